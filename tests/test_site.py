"""The site of the documents: it is built without a warning, and its search finds pages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.waiting import LIMIT_S

ROOT = Path(__file__).parents[1]
WORDS = {
    "ansible": "guides/monitoring",
    "cron": "guides/monitoring",
    "docker": "guides/kubernetes",
    "jupyter": "guides/python",
    "kubectl": "guides/kubernetes",
    "kubernetes": "guides/kubernetes",
    "nagios": "guides/monitoring",
    "prometheus": "guides/monitoring",
    "strimzi": "guides/kubernetes",
    "support bundle": "tasks/send-it-to-support",
    "systemd": "guides/monitoring",
    "uninstall": "install",
}
"""Words that people type, and the page that they should find."""


@pytest.mark.slow
def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """As `make docs` does; each word is in the index of the search, with its page."""
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (0, "", "") == (ran.returncode, ran.stdout, ran.stderr)
    index = json.loads((tmp_path / "search" / "search_index.json").read_text("utf-8"))
    texts: dict[str, str] = {}
    for entry in index["docs"]:
        page = entry["location"].partition("#")[0].strip("/")
        texts[page] = texts.get(page, "") + f" {entry['title']} {entry['text']}".lower()
    assert [] == [word for word, page in WORDS.items() if word not in texts[page]]


def test_navigation_has_every_page() -> None:
    """Once, and no page that is not there."""
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(pages) == sorted(listed)
