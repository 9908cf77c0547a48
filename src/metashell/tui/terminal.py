"""The terminal: Textual's driver, which no input and no stop of the process puts out of step."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
from typing import TYPE_CHECKING, Any, Final

from textual.drivers.linux_driver import LinuxDriver

from metashell.tui.drawn_cells import DrawnCells
from metashell.tui.keyboard import Keyboard

if TYPE_CHECKING:
    from metashell.tui.app import Explorer

_LOOK_S: Final = 0.1
"""How often is looked whether a sequence goes on, and whether there is room for more keys."""
_CHUNK: Final = 1 << 12
_PICTURE: Final = re.compile(r"\x1b\[\d+;\d+H")
"""How a picture begins: at a place."""
_DRAWS_NOTHING: Final = re.compile(r"\x1b\[[?<>=]|\x1b\]|\x07")
"""How modes, the title, the clipboard and the bell begin."""


class Terminal(LinuxDriver):
    """Draws on the terminal, and reads its keys."""

    _app: Explorer

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._input_ends = False
        self._cells = DrawnCells()
        self._wakened, self._waker = os.pipe()
        """A pipe: a byte written to its second end wakes the thread that reads keys."""
        os.set_blocking(self._wakened, False)

    def start_application_mode(self) -> None:
        """Begin on an empty screen, also when the program goes on after a stop."""
        self.forget_cells()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def forget_cells(self) -> None:
        """Send the next picture whole: the terminal may show something else."""
        self._cells.forget()

    def write(self, data: str) -> None:
        """Send what Textual draws, as far as it is not there already."""
        if _PICTURE.match(data):
            data = self._cells.draw(data, *self._app.size)
        elif not _DRAWS_NOTHING.match(data):
            self.forget_cells()
        if data:
            super().write(data)

    def disable_input(self) -> None:
        """Have the thread end that reads keys, and wait for it."""
        self._input_ends = True
        os.write(self._waker, b"\0")
        super().disable_input()
        self._input_ends = False

    def run_input_thread(self) -> None:
        """Read until the driver is stopped or the terminal is gone."""
        keyboard = Keyboard()
        with contextlib.suppress(BlockingIOError):
            os.read(self._wakened, _CHUNK)  # what woke the thread before this one
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._wakened, selectors.EVENT_READ)
            # Where a signal has input disabled while that is done, only the event stays.
            while not (self._input_ends or self.exit_event.is_set()):
                if self._app.type_ahead.is_full:
                    self.exit_event.wait(_LOOK_S)  # the terminal keeps what comes meanwhile
                    continue
                ready = selector.select(None if keyboard.is_at_rest else _LOOK_S)
                if any(key.fd == self.fileno for key, _ in ready):
                    data = self._read()
                    if not data:
                        self._draw_nowhere()
                        self._app.call_later(self._app.exit, return_code=128 + signal.SIGHUP)
                        return
                    for message in keyboard.feed(data):
                        self.process_message(message)
                for message in keyboard.tick():
                    self.process_message(message)

    def _draw_nowhere(self) -> None:
        """Let what is still drawn vanish: Python ends with 120 where it can't write at its end."""
        assert self._file is not None
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)

    def _read(self) -> bytes:
        """The bytes typed; empty if the terminal is gone."""
        try:
            return os.read(self.fileno, _CHUNK)
        except OSError:
            return b""

    def _run_input_thread(self) -> None:
        """Read input in the thread; an exception ends the program like any other defect."""
        try:
            self.run_input_thread()
        except Exception as error:
            self._app.call_later(self._app._handle_exception, error)

    def _query_in_band_window_resize(self) -> None:
        """Sizes are the kernel's to tell."""

    def _sigcont_application(self, *_: Any) -> None:
        """Take the terminal back, and have everything drawn."""
        if self._auto_restart and not self._must_signal_resume:
            # SIGSTOP says nothing: the terminal is still ours, or the shell's by now.
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()
