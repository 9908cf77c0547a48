"""Hooks of the site (mkdocs.yml): links out of docs/ lead to the forge, anchors are as there.

Pages are written for the forge, where `../README.md` is a file. A site holds docs/ alone.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
_LINK: Final = re.compile(r"\]\((\.\./[^)\s]*)\)")


def slug(heading: str, _separator: str) -> str:
    """The anchor of a heading, as forges make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def on_config(config: Any) -> None:
    """Set the address of the repository, and how headings become anchors."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    config.repo_url = settings["project"]["urls"]["Source"]
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links to files outside of docs/ lead to the repository."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def outside(match: re.Match[str]) -> str:
        name, mark, anchor = match[1].partition("#")
        path = (folder / name).resolve()
        if path.is_relative_to(ROOT / "docs"):
            return match[0]
        return f"]({config.repo_url}/blob/main/{path.relative_to(ROOT)}{mark}{anchor})"

    return _LINK.sub(outside, markdown)
