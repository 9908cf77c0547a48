"""Changes of nodes in words."""

from __future__ import annotations

import pytest

from metashell.fs.change_texts import change_text

PARTITION = {"replicas": (None, [1, 2]), "isr": (None, [1, 2]), "leader": (None, 1)}


@pytest.mark.parametrize(
    ("verb", "is_verbose", "text"),
    [
        ("created", False, "created replicas [1,2]"),
        ("created", True, "created replicas [1,2], isr [1,2], leader 1"),
        # What a checkpoint tells may be like that by now: nothing of it goes without saying.
        ("present", False, "present replicas [1,2], isr [1,2], leader 1"),
    ],
)
def test_what_a_new_node_is(verb: str, is_verbose: bool, text: str) -> None:
    """Only of a node that a record creates the usual fields are left out."""
    shown = change_text(verb, PARTITION, record="PARTITION_RECORD", is_verbose=is_verbose)
    assert text == shown
