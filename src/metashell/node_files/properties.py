r"""Java properties: bytes to a mapping.

Kafka loads these files with ``Properties.load(InputStream)``: Latin-1, ``\uXXXX`` escapes, the last
of two equal keys wins. A file without a backslash has neither escapes nor continued lines and is
split here, because the library costs more start-up time than all else that a small command does;
any other goes to the library. Must never put a value into an error: values are where secrets are.
"""

from __future__ import annotations

from metashell.errors import SourceError

_BLANK = b" \t\f"


def parse_properties(data: bytes, file: str) -> dict[str, str]:
    """Parse the content of a properties file.

    Args:
        data: The file's bytes.
        file: Its name, for errors.

    Raises:
        SourceError: A ``\\u`` escape is malformed.
    """
    if b"\\" not in data:
        return _parse_plain(data)
    import javaproperties

    try:
        return dict(javaproperties.loads(data))
    except ValueError:
        # The library's message quotes the text, which may be a piece of a password.
        raise SourceError(f"{file}: a malformed \\uXXXX escape") from None


def _parse_plain(data: bytes) -> dict[str, str]:
    """Parse lines of which each is a whole entry."""
    result = {}
    for line in data.replace(b"\r", b"\n").split(b"\n"):
        entry = line.lstrip(_BLANK)
        if not entry or entry[0] in b"#!":
            continue
        stop = next((i for i, byte in enumerate(entry) if byte in b"=: \t\f"), len(entry))
        value = entry[stop:].lstrip(_BLANK)
        if value[:1] in (b"=", b":"):
            value = value[1:].lstrip(_BLANK)
        result[entry[:stop].decode("latin-1")] = value.decode("latin-1")
    return result
