"""The kernel's library: its C, its name, and loading it, or why numpy does its work."""

from __future__ import annotations

import os
import sys
from ctypes import CDLL, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from functools import cache
from pathlib import Path
from typing import Final

SWITCH: Final = "METASHELL_KERNEL"
"""The variable that switches the kernel off, when it is built and when the program runs. When it is
built, `require` makes an error of a compiler that is missing or fails."""

DIRECTORY: Final = Path(__file__).with_name("csrc")
"""Where the C lies. In a zip file there is no such directory."""

LIBRARY: Final = Path(__file__).with_name(
    "_kernel.dylib" if sys.platform == "darwin" else "_kernel.so"
)
"""The library of an installed package or of an editable installation."""

_TYPES: Final = {"p": c_void_p, "n": c_int64, "s": c_int32, "u": c_uint64}
_FUNCTIONS: Final = {
    "chain": "pnppnn",
    "frames": "pnpnpnpp",
    "keyed_frames": "pnpnpnpp",
    "count_plain": "pnpnnp:n",
    "plain_batches": "pppnnppp",
    "decode": "pnnn:n",
    "check_keyed": "pnnp",
    "gather": "pnppnnsp:n",
    "gather_each": "pnpnnssp:n",
    "number_keys": "pnnp:n",
    "rehash_keys": "p",
    "number_ids": "ppnnp:n",
    "varying_bits": "pnp:s",
    "pack": "pnusp",
    "group": "psnnpppn:n",
    "take": "psnpnnp:s",
    "last_marked": "ppnnp",
    "survivors": "ppnnnpp",
    "find_ids": "pnpp",
    "lines": "pnpppnpnpp",
}
"""The functions by their names behind ``metashell_``: the types of their arguments, and behind a
colon that of their result. ``p`` is a pointer, ``n`` an int64, ``s`` an int32, ``u`` an uint64.
"""
_OFF: Final = frozenset({"0", "false", "no", "off"})
"""Values of the variable that switch the kernel off, as with options that have a variable."""


def is_off() -> bool:
    """Whether the user wants no kernel."""
    return os.environ.get(SWITCH, "").strip().lower() in _OFF


def compiled() -> list[str]:
    """Names of the C files in the library, sorted. A fuzzer is a program of its own."""
    return [name for name in _of_the_library() if name.endswith(".c")]


def _of_the_library() -> list[str]:
    names = sorted(os.listdir(DIRECTORY))
    return [n for n in names if n.endswith((".c", ".h")) and not n.startswith("fuzz")]


def digest() -> str:
    """SHA-256 of the C files and headers with their names, in hexadecimal digits.

    The library has it compiled in. So a library that was built from other sources is not used.

    Raises:
        OSError: The sources can't be read.
    """
    from hashlib import sha256

    found = sha256()
    for name in _of_the_library():
        content = (DIRECTORY / name).read_bytes()
        found.update(f"{name} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def library() -> CDLL | None:
    """The library, loaded once; None where there is none, and numpy does its work.

    Calls into it let go of Python's lock.
    """
    return _found()[0]


def description() -> str:
    """Which implementation runs, and why, for a person to read."""
    found, text = _found()
    return f"numpy ({text})" if found is None else f"C ({text})"


@cache
def _found() -> tuple[CDLL | None, str]:
    """The library with the beginning of its digest, or None and the reason."""
    if is_off():
        return None, f"{SWITCH}=off"
    if sys.byteorder != "little":
        return None, "the C kernel needs a little-endian processor"
    if not DIRECTORY.is_dir():
        return None, "the package is a zip file"
    if not LIBRARY.is_file():
        return None, "the C kernel is not built"

    try:
        found = CDLL(str(LIBRARY))
        digest_of = found.metashell_kernel_digest
        digest_of.argtypes, digest_of.restype = [], c_char_p
        built_from, expected = digest_of(), digest()
    except (OSError, AttributeError) as error:
        return None, f"{LIBRARY.name} can't be loaded: {error}"
    if built_from != expected.encode():
        return None, f"{LIBRARY.name} was built from other sources"
    for name, types in _FUNCTIONS.items():
        takes, _, gives = types.partition(":")
        function = getattr(found, f"metashell_{name}")
        function.argtypes = [_TYPES[letter] for letter in takes]
        function.restype = _TYPES[gives] if gives else None
    return found, f"sources {expected[:12]}"
