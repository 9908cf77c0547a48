"""The explorer: a Textual program over the commands and the file system.

Holds nothing that a one-shot command lacks: what it shows are answers of commands and nodes of the
tree. `session` is the way in and cheap to import; everything else needs Textual. Nothing slow runs
in the thread that draws: see `jobs`.
"""

from __future__ import annotations
