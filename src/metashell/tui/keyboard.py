"""Turns the bytes that a terminal sends into events, whatever the bytes are.

Textual's parser knows the keys. A broken or unknown sequence makes it fail, or it takes the pieces
for keys. Therefore this module finds whole sequences (ECMA-48), and drops unknown ones. The size of
the terminal comes from the operating system's kernel and never from here.
"""

from __future__ import annotations

import time
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import Final

from textual import constants
from textual._xterm_parser import XTermParser
from textual.events import Paste, Resize
from textual.message import Message
from textual.messages import InBandWindowResize

MOST_PASTED: Final = 1 << 16
"""Characters that are taken of what is pasted at once; one more says that there were more."""

_ESC: Final = "\x1b"
_PASTE_BEGIN, _PASTE_END = "\x1b[200~", "\x1b[201~"
_INTERRUPT: Final = b"\x03"
_CONTROLS: Final = "[O"
"""The second characters of sequences that a letter ends: CSI and SS3."""
_STRINGS: Final = "]P_^X"
"""The second characters of strings that BEL or ST ends: OSC, DCS, APC, PM and SOS."""
_LONGEST: Final = 30
"""Characters of a sequence that Textual may know."""


class Keyboard:
    """Makes events of bytes; keeps the beginning of what is not whole yet."""

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._parser = XTermParser()
        self._sequence = ""
        """The part of an escape sequence that has come so far; empty outside of a sequence."""
        self._is_dropped = False
        """Whether the rest of it is dropped."""
        self._came = 0.0
        """When something came last, as of `time.monotonic`."""
        self._paste: str | None = None
        """The text pasted so far; None outside of a paste."""
        self._paste_tail = ""
        """The last characters of it, which the end may begin with."""

    @property
    def is_at_rest(self) -> bool:
        """Whether all that came is whole: `tick` has nothing to do before more comes."""
        is_whole = not self._sequence and not self._is_dropped
        return is_whole and self._parser._timeout_time is None

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take bytes; what is not UTF-8 becomes U+FFFD.

        Yields:
            Keys, pastes, what the mouse does, and what the terminal says of itself.
        """
        self._came = time.monotonic()
        if self._paste is not None and data == _INTERRUPT:
            self._paste, self._paste_tail = None, ""  # a key of its own: the end never came
        text = self._decode(data)
        while text:
            if self._paste is None:
                yield from self._take(text[0])
                text = text[1:]
                continue
            body, end, text = (self._paste_tail + text).partition(_PASTE_END)
            if end:
                whole = (self._paste + body)[: MOST_PASTED + 1]
                self._paste, self._paste_tail = None, ""
                yield Paste(whole.replace("\0", ""))
            else:
                n_kept = max(len(body) - len(_PASTE_END) + 1, 0)
                self._paste = (self._paste + body[:n_kept])[: MOST_PASTED + 1]
                self._paste_tail = body[n_kept:]

    def tick(self) -> Iterator[Message]:
        """Take what is not gone on with for a moment as it is; to be called unless at rest."""
        if time.monotonic() - self._came < constants.ESCAPE_DELAY:
            return
        is_broken = self._is_dropped or len(self._sequence) > 2
        self._sequence, self._is_dropped = "", False
        if is_broken:
            self._parser = XTermParser()
        yield from self._guarded(self._parser.tick())

    def _take(self, character: str) -> Iterator[Message]:
        if self._is_dropped and self._drops(character):
            return
        if character == _ESC:
            self._sequence = _ESC
        elif self._sequence:
            self._sequence += character
            if len(self._sequence) == 2 and character not in _CONTROLS + _STRINGS:
                self._sequence = ""  # a key with alt
        if self._sequence == _PASTE_BEGIN:
            self._parser, self._sequence, self._paste = XTermParser(), "", ""
            return
        if len(self._sequence) > 2 and (
            self._sequence[1] in _STRINGS or len(self._sequence) > _LONGEST
        ):
            self._parser, self._is_dropped = XTermParser(), True
            self._drops(character)
            return
        # Until the terminal was ours, it made a newline of the key; a shell takes both, too.
        key = "\r" if character == "\n" else character
        messages = list(self._guarded(self._parser.feed(key)))
        if self._sequence != _ESC and (messages or _is_whole(self._sequence)):
            if not messages:
                self._parser = XTermParser()
            self._sequence = ""
        yield from messages

    def _drops(self, character: str) -> bool:
        """Drop a character of a sequence, the last one too; False where another one begins."""
        if self._sequence[1] in _STRINGS:
            is_end = character == "\a" or (self._sequence[-1], character) == (_ESC, "\\")
        elif character == _ESC:
            self._is_dropped = False
            return False
        else:
            is_end = _is_final(character)
        if is_end:
            self._sequence, self._is_dropped = "", False
        else:
            self._sequence = self._sequence[:2] + character
        return True

    def _guarded(self, messages: Iterable[Message]) -> Iterator[Message]:
        """The messages of the parser; none if the parser fails."""
        try:
            for message in messages:
                if isinstance(message, Resize | InBandWindowResize):
                    self._parser = XTermParser()  # it would scale the mouse by that
                    return
                yield message
        except Exception:
            self._parser = XTermParser()


def _is_whole(sequence: str) -> bool:
    """Whether a sequence that begins with CSI or SS3 has its end."""
    if sequence.startswith("\x1b[M"):  # a button, and two coordinates
        return len(sequence) == 6
    if sequence.startswith("\x1b[["):  # a function key of Linux's console
        return len(sequence) == 4
    return len(sequence) > 2 and _is_final(sequence[-1])


def _is_final(character: str) -> bool:
    return "@" <= character <= "~"
