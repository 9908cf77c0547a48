"""A fake KRaft quorum on loopback, for tests, demonstrations and measurements.

::

    with FakeQuorumServer(3) as server:
        server.append(100)                      # records, committed at once
        metashell.open_quorum(server.address(2))
        server.elect(2)                         # leadership moves
        server.kill(1)                          # nobody listens there any more
        server.restart(1)                       # at the same port
        server.snapshot()                       # the leader's log begins with a checkpoint now
        server.serve_checkpoint(data, end_offset=1_000_000)   # or with these very bytes

    FakeQuorumServer(context=tls_context)                       # SSL
    FakeQuorumServer(sasl=Sasl({"alice": "alice-secret"}))      # PLAIN, SCRAM, OAUTHBEARER

What it answers is `support.fake_quorum`'s; `server.quorum` is there for what has no method here
(hold ``server.quorum.changed`` while changing it). ``habits`` of a controller say which versions it
serves and what is allowed; `support.fake_faults.Faults` makes mishaps.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final

from support.fake_connection import FakeConnection, Sasl
from support.fake_faults import NO_FAULTS, Faults
from support.fake_quorum import Controller, FakeQuorum
from support.waiting import LIMIT_S

HOST: Final = "127.0.0.1"
_TICK_S: Final = 0.01
"""How often a connection looks whether something may leave."""
_RECEIVE_BYTES: Final = 1 << 16


class FakeQuorumServer:
    """Controllers 1 to n, each with a port; see the module.

    Args:
        n_controllers: How many.
        context: Of TLS, server side; None for plaintext.
        sasl: Who may come in; None for everybody.
        faults: What goes wrong on purpose.
        quorum: A model that was made before; None for a new one.
    """

    def __init__(
        self,
        n_controllers: int = 3,
        *,
        context: ssl.SSLContext | None = None,
        sasl: Sasl | None = None,
        faults: Faults = NO_FAULTS,
        quorum: FakeQuorum | None = None,
    ) -> None:
        self.quorum = quorum or FakeQuorum(n_controllers)
        self.context, self.sasl, self.faults = context, sasl, faults
        self._listeners: dict[int, socket.socket] = {}
        self._open: dict[int, list[socket.socket]] = {i: [] for i in self.quorum.controllers}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.connections: list[FakeConnection] = []
        """All that were accepted, the oldest first, with what was asked on each."""

    def start(self) -> FakeQuorumServer:
        """Listen."""
        for controller in self.quorum.controllers.values():
            self._listen(controller, 0)
        return self

    def stop(self) -> None:
        """Close everything; returns when all threads have ended."""
        for node_id in self.quorum.controllers:
            self._close(node_id)
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> FakeQuorumServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def n_open(self) -> int:
        """How many connections clients have open."""
        with self._lock:
            return sum(map(len, self._open.values()))

    # Where it listens.

    def port(self, node_id: int) -> int:
        """The port of a controller."""
        return self.quorum.controllers[node_id].port

    def address(self, *node_ids: int) -> str:
        """``host:port`` of controllers, of all of them by default, as options take it."""
        ids = node_ids or tuple(self.quorum.controllers)
        return ",".join(f"{HOST}:{self.port(i)}" for i in ids)

    # What happens.

    def append(self, n_records: int = 1, values: Sequence[bytes] | None = None) -> int:
        """Append a batch and commit it; returns the offset behind it."""
        with self.quorum.changed:
            self.quorum.append(n_records, values)
            self.quorum.commit()
            return self.quorum.committed_end

    def append_uncommitted(self, n_records: int = 1) -> None:
        """Append a batch that stays at or above the high watermark; `commit` lets it pass."""
        self.quorum.append(n_records)

    def commit(self) -> None:
        """Commit what the leader has."""
        self.quorum.commit()

    def elect(self, node_id: int, *, unaware: Sequence[int] = ()) -> None:
        """Let a controller lead the next epoch, and commit its first record."""
        with self.quorum.changed:
            self.quorum.elect(node_id, unaware=unaware)
            self.quorum.commit()

    def lose_leader(self) -> None:
        """Let nobody lead."""
        self.quorum.lose_leader()

    def kill(self, node_id: int) -> None:
        """Stop a controller: its connections close and its port refuses."""
        self.quorum.kill(node_id)
        self._close(node_id)

    def restart(self, node_id: int) -> None:
        """Start it again at the same port."""
        self.quorum.restart(node_id)
        self._listen(self.quorum.controllers[node_id], self.port(node_id))

    def hang(self, node_id: int) -> None:
        """Let a controller take connections and say nothing, not even in TLS."""
        self.quorum.hang(node_id)

    def go_on(self, node_id: int) -> None:
        """Let it go on, as a follower."""
        self.quorum.restart(node_id)

    def drop_connections(self, node_id: int) -> None:
        """Close the connections of a controller, which goes on listening."""
        with self._lock:
            for sock in self._open[node_id]:
                _shut(sock)

    def snapshot(self) -> None:
        """Let the leader write a snapshot of all that is committed, and drop the log before it."""
        with self.quorum.changed:
            self.quorum.snapshot()
            self.quorum.trim()

    def serve_checkpoint(self, data: bytes, *, end_offset: int, epoch: int = 1) -> None:
        """Begin anew with a checkpoint of these bytes; controller 1 leads, in the next epoch."""
        quorum = self.quorum
        with quorum.changed:
            quorum.history.clear()
            for controller in quorum.controllers.values():
                controller.log, controller.start = [], end_offset
                controller.snapshots = {(end_offset, epoch): data}
                controller.epoch = max(controller.epoch, epoch)
            quorum.elect(1)
            quorum.commit()

    # Sockets.

    def _listen(self, controller: Controller, port: int) -> None:
        listener = socket.create_server((HOST, port), backlog=64)
        with self.quorum.changed:
            controller.host, controller.port = HOST, listener.getsockname()[1]
        with self._lock:
            self._listeners[controller.id] = listener
        self._run(self._accept, listener, controller)

    def _run(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _close(self, node_id: int) -> None:
        with self._lock:
            listener = self._listeners.pop(node_id, None)
            sockets, self._open[node_id] = self._open[node_id], []
        if listener is not None:
            _shut(listener)
            listener.close()
        for sock in sockets:
            _shut(sock)

    def _accept(self, listener: socket.socket, controller: Controller) -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                if self._listeners.get(controller.id) is not listener:
                    sock.close()
                    return
                self._open[controller.id].append(sock)
            self._run(self._serve, sock, controller)

    def _serve(self, sock: socket.socket, controller: Controller) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._wait_while_it_hangs(sock, controller)
            if self.context is not None:
                sock.settimeout(LIMIT_S)
                sock = self._secure(sock, self.context, self._open[controller.id])
            self._talk(sock, controller)
        except OSError:
            pass  # the client is gone, or speaks something else
        finally:
            sock.close()
            with self._lock:
                known = self._open[controller.id]
                known[:] = [other for other in known if other.fileno() >= 0]

    def _wait_while_it_hangs(self, sock: socket.socket, controller: Controller) -> None:
        with self.quorum.changed:
            while controller.hangs and sock in self._open[controller.id]:
                self.quorum.changed.wait(_TICK_S)

    def _secure(
        self, sock: socket.socket, context: ssl.SSLContext, known: list[socket.socket]
    ) -> socket.socket:
        with self._lock:
            # From here on it is closed to whoever asks, and must not be forgotten for that.
            secured = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            if sock not in known:  # it was closed meanwhile
                _shut(secured)
                return secured
            known[known.index(sock)] = secured
        try:
            secured.do_handshake()
        except OSError:
            secured.close()
            raise
        return secured

    def _talk(self, sock: socket.socket, controller: Controller) -> None:
        connection = FakeConnection(controller, self.faults, self.sasl)
        self.connections.append(connection)
        while True:
            sock.settimeout(_TICK_S)
            try:
                data = sock.recv(_RECEIVE_BYTES)
                if not data:
                    return
            except TimeoutError:
                data = b""
            sock.settimeout(LIMIT_S)
            with self.quorum.changed:
                connection.receive(data, time.monotonic())
                answer = connection.poll(time.monotonic())
            while answer:
                sock.sendall(answer)
                with self.quorum.changed:
                    answer = connection.poll(time.monotonic())
            if connection.is_closed:
                return


def _shut(sock: socket.socket) -> None:
    # Closing alone does not wake a thread that waits in a system call.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
