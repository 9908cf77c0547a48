"""A program that is metashell, for scripts that run it again and again.

A start of Python and the imports take longer than most answers. So one process imports them, once,
and a fork of it runs each command: with the caller's words, directory, environment and streams.
Tests about starts, signals, terminals and imports start the program itself.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from shutil import rmtree

from support.programs import end

_SERVER = """
import _socket, atexit, gc, importlib, io, marshal, os, pkgutil, select, sys, time
import metashell.cli.imports, metashell.cli.program

# What commands import, and nothing that begins a thread.
LAYERS = ("answers", "cli", "commands", "fs", "image", "log", "records", "schema", "sources")
# As the program does.
metashell.cli.imports.prepare_pyarrow()
metashell.cli.imports.leave_pandas_out()
for found in pkgutil.walk_packages(metashell.__path__, "metashell."):
    if found.name.split(".")[1] in LAYERS:
        importlib.import_module(found.name)

def streams():
    # As Python makes them when it starts.
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    for name, fd, errors in (("stdout", 1, "surrogateescape"), ("stderr", 2, "backslashreplace")):
        by_line = fd == 2 or os.isatty(fd)
        raw = io.BufferedWriter(io.FileIO(fd, "w", closefd=False))
        text = io.TextIOWrapper(raw, "utf-8", errors, line_buffering=by_line)
        setattr(sys, name, text)
        setattr(sys, "__" + name + "__", text)

def serve(peer):
    head, found, _, _ = peer.recvmsg(8, _socket.CMSG_SPACE(12))
    size, wanted = int.from_bytes(head, "big"), b""
    while len(wanted) < size:
        wanted += peer.recv(size - len(wanted))
    directory, environment, words = marshal.loads(wanted)
    child = os.fork()
    if child == 0:
        fds = memoryview(found[0][2]).cast("i")
        for fd, passed in enumerate(fds):
            os.dup2(passed, fd)
            os.close(passed)
        peer.close()
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        sys.argv = ["metashell", *words]
        streams()
        return True
    for stream in memoryview(found[0][2]).cast("i"):
        os.close(stream)
    peer.sendall(os.waitpid(child, 0)[1].to_bytes(4, "big"))
    os._exit(0)

def main():
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    listener.bind(sys.argv[1])
    listener.listen(64)
    gc.collect()
    gc.freeze()
    os.write(1, b"!")
    while True:
        ready = select.select([listener, 0], [], [], 1.0)[0]
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        if 0 in ready:
            return False
        if ready:
            peer = _socket.socket(fileno=listener._accept()[0])
            if os.fork() == 0:
                listener.close()
                return serve(peer)
            peer.close()

if main():
    status = 1
    try:
        status = metashell.cli.main()
    except SystemExit as stop:
        status = stop.code or 0
    finally:
        # To take all modules apart takes longer than most commands.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                continue
        os._exit(status)
"""

_CLIENT = """#!{python} -IS
import _socket, marshal, os, signal, sys
peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
peer.connect({socket!r})
wanted = marshal.dumps((os.getcwd(), dict(os.environ), sys.argv[1:]))
fds = b"".join(fd.to_bytes(4, sys.byteorder) for fd in range(3))
peer.sendmsg([len(wanted).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
peer.sendall(wanted)
status = int.from_bytes(peer.recv(4), "big")
if os.WIFSIGNALED(status):
    signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.WEXITSTATUS(status))
"""


@cache
def warm_program() -> Path:
    """Return the program's path; what serves it ends with this process."""
    directory = Path(tempfile.mkdtemp(prefix="metashell-warm-"))
    atexit.register(rmtree, directory, ignore_errors=True)
    socket = directory / "socket"
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(socket)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(end, process)
    assert process.stdout is not None
    assert process.stdout.read(1) == b"!"
    program = directory / "bin" / "metashell"
    program.parent.mkdir()
    program.write_text(_CLIENT.format(python=sys.executable, socket=str(socket)))
    program.chmod(0o755)
    return program
