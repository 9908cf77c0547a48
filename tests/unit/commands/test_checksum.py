"""checksum: what it prints."""

from __future__ import annotations

import json

import metashell
from metashell.checks.digest import digested_parts, image_digest, part_digests
from support.fixtures import Fixture
from support.shell import run_on


def test_digest_offset_and_epoch(real_directory: Fixture) -> None:
    """One line, the digest first."""
    source = metashell.open(real_directory.input)
    last = source.image.provenance
    expected = image_digest(part_digests(source.image, source.redaction))

    ran = run_on(source, "checksum")
    assert (0, f"{expected}  offset {last.offset}  epoch {last.epoch}\n") == (ran.status, ran.out)


def test_an_earlier_offset(real_directory: Fixture) -> None:
    """``--at`` is the digest of that state."""
    source = metashell.open(real_directory.input)
    then = source.at(2500)

    assert run_on(then, "checksum").out == run_on(source, "checksum --at 2500").out
    assert run_on(source, "checksum").out != run_on(source, "checksum --at 2500").out


def test_parts(real_directory: Fixture) -> None:
    """A line a part before that of the whole; JSON has the same."""
    source = metashell.open(real_directory.input)
    *lines, whole = run_on(source, "checksum --parts").out.splitlines()
    *parts, last = json.loads(run_on(source, "checksum --parts --json").out)

    assert [part.name for part in digested_parts()] == [line.split("  ")[1] for line in lines]
    assert lines == [f"{row['checksum']}  {row['part']}" for row in parts]
    assert (last["checksum"], last["secrets"]) == (whole.split("  ")[0], False)


def test_secrets_are_told(real_directory: Fixture) -> None:
    """A digest over secrets says so: it never equals one without."""
    source = metashell.open(real_directory.input, show_secrets=True)

    assert run_on(source, "checksum").out.endswith("  with secrets\n")


def test_what_can_not_be(real_directory: Fixture) -> None:
    """No part of a node, no nonsense, no offset that the files do not cover."""
    source = metashell.open(real_directory.input)

    assert [2, 2, 1] == [
        run_on(source, line).status
        for line in ("checksum --parts /image", "checksum --at x", "checksum --at 999999")
    ]
