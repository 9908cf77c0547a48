"""What goes wrong on purpose between a controller and its client, by chance and a seed."""

from __future__ import annotations

import random
import struct
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes
from metashell.quorum.protocol import Api

_ERRORS: Final = (-1, 1, 2, 3, 5, 6, 7, 8, 13, 29, 35, 42, 56, 74, 75, 98, 99, 100, 103)


@dataclass
class Faults:
    """Chances of each mishap, of every answer.

    What no checksum covers (offsets, epochs, watermarks) is left as it is: a lie there can't be
    told from the truth.
    """

    rng: random.Random = field(default_factory=lambda: random.Random(0))
    error: float = 0.0
    """Of an error code that is not called for."""
    silence: float = 0.0
    close: float = 0.0
    """Of closing without an answer, and again of closing within one."""
    damage: float = 0.0
    slow: float = 0.0
    """Of an answer that comes byte by byte."""
    throttle: float = 0.0
    final_errors: bool = False
    """Whether errors come that nobody would ask again after."""

    def stop(self) -> None:
        """Nothing goes wrong any more."""
        self.error = self.silence = self.close = self.damage = self.slow = self.throttle = 0.0

    def _happens(self, chance: float) -> bool:
        return chance > 0 and self.rng.random() < chance

    def instead_of(self, api: Api, _version: int) -> Any:
        """``silence``, ``close``, the fields of an error, or None for an honest answer."""
        if self._happens(self.silence):
            return "silence"
        if self._happens(self.close):
            return "close"
        if api is Api.API_VERSIONS or not self._happens(self.error):
            return None
        final = {3, 35, 100, 103}
        error = self.rng.choice([e for e in _ERRORS if self.final_errors or e not in final])
        if api is Api.DESCRIBE_CLUSTER:
            return {"error_code": error, "cluster_id": ""}
        return {"error_code": error}

    def spoil(self, api: Api, fields: dict[str, Any]) -> dict[str, Any]:
        """Damage records, or ask for patience."""
        if self._happens(self.throttle) and api is not Api.SASL_HANDSHAKE:
            fields = fields | {"throttle_time_ms": self.rng.choice([1, 100, 3000])}
        name = {Api.FETCH: "records", Api.FETCH_SNAPSHOT: "unaligned_records"}.get(api)
        key = "responses" if api is Api.FETCH else "topics"
        if name is None or not fields.get(key) or not self._happens(self.damage):
            return fields
        fields = deepcopy(fields)
        part = fields[key][0]["partitions"][0]
        data = bytearray(part[name])
        # Of the first batch, behind its epoch: a checksum covers that.
        if len(data) > 20:
            (length,) = struct.unpack_from(">i", data, 8)
            at = self.rng.randrange(17, max(18, min(len(data), 12 + length if length > 9 else 18)))
            data[at] ^= 1 << self.rng.randrange(8)
            part[name] = bytes(data)
        return fields

    def deliver(self, frame: bytes, now: float) -> list[tuple[float, bytes | None]]:
        """When which bytes of an answer leave; None closes."""
        rng = self.rng
        if self._happens(self.close):
            return [(now, frame[: rng.randrange(len(frame))]), (now, None)]
        if self._happens(self.damage):
            kind = rng.randrange(5)
            if kind == 0:  # of another request
                frame = frame[:4] + bytes([frame[4] ^ 1]) + frame[5:]
            elif kind == 1 and len(frame) > 20:  # cut off, and not saying so
                frame = struct.pack(">i", len(frame) - 4 - 7) + frame[4:-7]
            elif kind == 2:  # of another protocol
                frame = b"HTTP/1.1 400 Bad Request\r\n\r\n"
            elif kind == 3:  # beyond all bounds
                frame = struct.pack(">i", rng.choice([-1, 0, 2**31 - 1])) + frame[4:]
            else:  # more than was asked for
                frame += frame
        if self._happens(self.slow):
            gap = rng.choice([0.001, 0.05])
            n = max(rng.choice([1, 7, 100]), len(frame) // 200)
            return [
                (now + gap * i, frame[at : at + n]) for i, at in enumerate(range(0, len(frame), n))
            ]
        return [(now, frame)]


class Lies(Faults):
    """Answers that are well formed and not true: any number may be another one."""

    def spoil(self, api: Api, fields: dict[str, Any]) -> dict[str, Any]:
        """Tell lies."""
        if self._happens(0.5) or api is Api.API_VERSIONS:
            return fields
        fields = deepcopy(fields)
        self._lie(fields)
        for part in [p for t in fields.get("responses", ()) for p in t["partitions"]]:
            if self._happens(0.2):
                part["diverging_epoch"] = {"epoch": self._number(0), "end_offset": self._number(0)}
            if self._happens(0.2):
                part["snapshot_id"] = {"end_offset": self._number(0), "epoch": self._number(0)}
        return fields

    def _lie(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if isinstance(value, dict):
                self._lie(value)
            elif isinstance(value, list):
                for element in value:
                    if isinstance(element, dict):
                        self._lie(element)
            elif (
                isinstance(value, int)
                and not isinstance(value, bool)
                and self._happens(0.1)
                and name not in {"port", "error_code", "endpoint_type", "node_id"}
            ):
                fields[name] = self._number(value)

    def _number(self, value: int) -> int:
        return self.rng.choice(
            [0, -1, 1, 2, 3, 7, 40, min(value + 1, 2**31 - 1), value - 1, 2**31 - 1]
        )


class Stuck(Faults):
    """A leader with whom nobody gets any further, and who never says so.

    Args:
        kind: How, one of `KINDS`.
    """

    KINDS: Final = (
        "snapshots that go away",
        "snapshots that are whole",
        "snapshots that grow",
        "crumbs of a snapshot",
        "dribbles",
        "dribbles at the end",
        "diverges",
        "takes back",
        "zeros",
        "endless batch",
        "no high watermark",
    )

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind, self._n = kind, 0

    def spoil(self, api: Api, fields: dict[str, Any]) -> dict[str, Any]:
        """Lead nowhere."""
        key = {Api.FETCH: "responses", Api.FETCH_SNAPSHOT: "topics"}.get(api)
        if key is None or not fields.get(key):
            return fields
        fields = deepcopy(fields)
        part = fields[key][0]["partitions"][0]
        part.update(self._fetched() if api is Api.FETCH else self._piece(part["position"]))
        return fields

    def _fetched(self) -> dict[str, Any]:
        self._n += 1
        at = self._n - 1
        if self._kind == "diverges" or (self._kind == "takes back" and at % 2):
            return {"diverging_epoch": {"epoch": 0, "end_offset": 0}}
        if self._kind in {"no high watermark", "takes back"}:
            base = at if self._kind == "no high watermark" else 0
            records = encode_batch([b"x"], base_offset=base)
            return {"high_watermark": -1, "records": records, "diverging_epoch": NOWHERE}
        if self._kind.startswith("dribbles"):
            return {}
        return {"snapshot_id": {"end_offset": 10 * self._n, "epoch": 1}}

    def _piece(self, pos: int) -> dict[str, Any]:
        data = checkpoint_bytes([b"x"] * (self._n if self._kind.endswith("grow") else 3))
        size = 1 << 62 if "snapshots" not in self._kind else len(data)
        if self._kind == "snapshots that go away":
            data = data[:-1] if pos == 0 else b""
        elif self._kind.startswith("crumbs"):
            data = data[pos : pos + 1] or b"x"
        elif self._kind == "zeros":
            data = bytes(1 << 20)
        elif self._kind == "endless batch":
            head = data[:8] + (2**31 - 1).to_bytes(4, "big") + data[12:]
            data = bytes(1 << 20) if pos else head.ljust(1 << 20, b"x")
        return {"error_code": 0 if data else 98, "size": size, "unaligned_records": data}

    def deliver(self, frame: bytes, now: float) -> list[tuple[float, bytes | None]]:
        """All at once, or a byte a second."""
        n = len(frame)
        if self._kind == "dribbles":
            n = 0
        elif self._kind == "dribbles at the end" and self._n:
            frame = struct.pack(">i", 1 << 20) + frame[4:].ljust(1 << 20, b"x")
            n = 1 << 17
        rest = [(now + i, frame[i : i + 1]) for i in range(n, min(n + 1000, len(frame)))]
        return [(now, frame[:n]), *rest] if n else list(rest)


NOWHERE: Final = {"epoch": -1, "end_offset": -1}
"""The diverging epoch of a log that does not diverge."""
NO_FAULTS: Final = Faults()
