"""Paths as they are typed: what may come next, and where they lead. No widget; called in jobs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Completion
from metashell.commands.framework.command_line import complete_at
from metashell.commands.framework.completion import complete_paths
from metashell.commands.framework.targets import path_hint
from metashell.dataclass import dataclass
from metashell.errors import NoSuchPathError, PathError
from metashell.fs.path import (
    decode_name,
    encode_name,
    encode_path,
    is_absolute,
    join,
    normalise,
    resolve,
)
from metashell.tui.view_state import quiet_context, view_state_there

if TYPE_CHECKING:
    from metashell.tui.view_state import ViewState

_WITH_OFFSET: Final = re.compile(r"(.*)@(\d{1,18})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PathTarget:
    """Where a line leads."""

    path: str
    """Absolute."""
    offset: int | None = None
    is_topic: bool = False
    """Whether the line is no path, but the name of the topic that is there."""


def propose(
    view_state: ViewState, typed: str, cwd: str, cancelled: Callable[[], bool] = lambda: False
) -> list[Completion]:
    """The completions of a typed path, each for the whole line; empty if no node begins so."""
    cut = typed.rfind("/") + 1
    head, last = typed[:cut], typed[cut:]
    # The line is no shell's: what would be a quote there is a part of a name here.
    before = "/".join(encode_name(part, quoting=True) if part not in ("", ".", "..") else part
                      for part in head.split("/"))  # fmt: skip
    context = quiet_context(view_state, cancelled, cwd=cwd)
    found = complete_paths(context, before + last)
    return [
        Completion(head + complete_at(each.text, len(each.text)).word, -len(typed), each.display)
        for each in found
    ]


def follow(view_state: ViewState, typed: str, cwd: str) -> PathTarget:
    """Where a line leads: a path, ``PATH@OFFSET``, or else the topic of that name.

    Raises:
        PathError: Nothing is there.
        NotCoveredError: The files do not cover the offset.
    """
    path = typed if is_absolute(typed) else join(cwd, typed)
    try:
        return PathTarget(resolve(view_state.root, path.rstrip("/") or "/").encoded())
    except PathError as error:
        match = _WITH_OFFSET.fullmatch(path)
        topic = topic_path(view_state, decode_name(typed))
        if match is None and topic is None:
            if isinstance(error, NoSuchPathError):
                error.hint = path_hint(view_state.root, cwd, error)
            raise
    if match is None:
        assert topic is not None
        return PathTarget(topic, is_topic=True)
    path, offset = normalise(match[1]), int(match[2])
    _check(view_state, path, offset)
    return PathTarget(path, offset)


def _check(view_state: ViewState, path: str, offset: int) -> None:
    """Look for a path at an offset; what came later or was removed is in the state shown.

    Raises:
        PathError: Nothing is there in either.
        NotCoveredError: The files do not cover the offset.
    """
    there = view_state_there(view_state, path, moves=True, point=offset)
    try:
        resolve(view_state.root, path)
    except PathError:
        if there.cluster is None:
            raise
        try:
            resolve(there.cluster.root, path[len(there.prefix) :] or "/")
        except PathError as error:
            raise PathError(path, f"{error.reason}, here or at offset {offset}") from None


def topic_path(view_state: ViewState, name: str) -> str | None:
    """The absolute path of a topic; None where no topic has that name."""
    path = view_state.prefix + encode_path(["image", "topics", "byName", name])
    try:
        return resolve(view_state.root, path).encoded()
    except PathError:
        return None
