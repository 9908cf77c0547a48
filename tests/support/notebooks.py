"""Running a notebook's code in this process, as a kernel would: cell by cell, with its outputs."""

from __future__ import annotations

import ast
import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import Any

Cell = dict[str, Any]


def outputs_of(notebook: Cell, inserted: Callable[[str], str]) -> Iterator[list[Cell]]:
    """The outputs of each code cell, in order.

    Args:
        notebook: The notebook, as its file has it.
        inserted: Makes the code that runs of the code that is shown.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        number += 1
        tree = ast.parse(inserted("".join(cell["source"])))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO()) as out:
            exec(compile(tree, "<notebook>", "exec"), names)
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<notebook>", "eval"), names)
        found: list[Cell] = []
        if out.getvalue():
            text = out.getvalue().splitlines(keepends=True)
            found.append({"name": "stdout", "output_type": "stream", "text": text})
        if value is not None:
            data = {"text/plain": repr(value).splitlines(keepends=True)}
            if hasattr(value, "_repr_html_"):
                data = {"text/html": value._repr_html_().splitlines(keepends=True), **data}
            found.append(
                {
                    "data": data,
                    "execution_count": number,
                    "metadata": {},
                    "output_type": "execute_result",
                }
            )
        yield found
