"""How a fake controller behaves: what it serves and allows; see `support.fake_quorum`."""

from __future__ import annotations

from dataclasses import dataclass, field

from metashell.quorum.protocol import Api, request_spec


@dataclass(slots=True)
class Habits:
    """How a controller behaves."""

    versions: dict[Api, tuple[int, int]] = field(
        default_factory=lambda: {
            Api.FETCH: (4, 18),
            Api.FETCH_SNAPSHOT: (0, 1),
            Api.DESCRIBE_QUORUM: (0, 2),
            Api.DESCRIBE_CLUSTER: (0, 2),
            Api.API_VERSIONS: (0, 4),
            Api.SASL_HANDSHAKE: (0, 1),
            Api.SASL_AUTHENTICATE: (0, 2),
        }
    )
    """Lowest and highest version of each API that is served."""
    may_fetch: bool = True
    """CLUSTER_ACTION."""
    may_describe_quorum: bool = True
    """DESCRIBE."""
    may_describe_cluster: bool = True
    """ALTER."""
    max_bytes: int = 1 << 30
    """No answer has more of the log or of a snapshot."""
    hides_snapshot_errors: bool = True
    """Whether errors of FetchSnapshot come as UNKNOWN_SERVER_ERROR, as real ones do."""
    is_broker: bool = False
    throttle_ms: int = 0


def broker_versions() -> dict[Api, tuple[int, int]]:
    """What a broker offers: METADATA among it."""
    return {**Habits().versions, Api.METADATA: (0, 13)}


def is_known(api: int, version: int) -> bool:
    """Whether a request's definition is there."""
    if api not in set(Api) or api == Api.METADATA:
        return False
    return version in request_spec(Api(api)).versions
