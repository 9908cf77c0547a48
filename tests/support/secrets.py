"""What ``--show-secrets`` alone shows of a log, found by comparing outputs."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from metashell.log.read import Loaded
from metashell.records.lines import json_lines
from metashell.records.records import Records
from metashell.redact import Redaction
from support.strategies import builtin_registry

_LEAST_BYTES = 6
"""Fewer bytes may be anywhere by chance."""


def only_with_secrets(loaded: Loaded) -> set[bytes]:
    """The bytes of all texts that redacted lines lack; numbers may be anywhere."""
    records = Records(loaded, builtin_registry())
    rows = np.arange(len(records.frames))
    plain, full = (
        json_lines(Redaction(show_secrets)).lines(records, rows) for show_secrets in (False, True)
    )
    shown, hidden = set[str](), set[str]()
    for one, other in zip(plain, full, strict=True):
        texts = set(_texts(json.loads(one)))
        shown |= texts
        hidden |= set(_texts(json.loads(other))) - texts
    return {
        form
        for text in hidden
        for form in _forms(text)
        if len(form) >= _LEAST_BYTES and not any(text in one for one in shown)
    }


def _texts(value: object) -> Iterator[str]:
    """Texts in a JSON value."""
    if isinstance(value, str):
        yield value
    for one in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _texts(one)


def _forms(text: str) -> Iterator[bytes]:
    """The bytes that a text may stand for in a file."""
    yield text.encode()
    with suppress(ValueError):
        yield base64.b64decode(text, validate=True)
