"""What Kafka's own admin tools printed of a recorded cluster, at the moment it was recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from support.fixtures import DATA

_HEAD = re.compile(r"(?:Dynamic|All|Default) configs for (.*) are:")
_CONFIG = re.compile(r"  (\S+?)=(.*) sensitive=(true|false) synonyms=\{(.*)\}")
_BEFORE_SYNONYM = re.compile(r", (?=[A-Z_]+:)")
_KINDS = {
    "topic": "TOPIC",
    "broker": "BROKER",
    "client-metric": "CLIENT_METRICS",
    "group": "GROUP",
}


@dataclass(frozen=True)
class Described:
    """One config as kafka-configs.sh describes it."""

    value: str | None
    sensitive: bool
    synonyms: tuple[str, ...]

    @property
    def source(self) -> str:
        """Kafka's source: that of the first synonym."""
        return self.synonyms[0].partition(":")[0] if self.synonyms else "DEFAULT_CONFIG"


def admin_text(fixture: str, name: str) -> str:
    """The output of a tool."""
    return (DATA / "admin" / fixture / name).read_text("utf-8")


def described_configs(fixture: str, name: str) -> Mapping[tuple[str, str], Mapping[str, Described]]:
    """Output of ``kafka-configs.sh --describe``: configs by (type, name) of the resource."""
    found: dict[tuple[str, str], dict[str, Described]] = {}
    current: dict[str, Described] = {}
    for line in admin_text(fixture, name).splitlines():
        if head := _HEAD.fullmatch(line):
            kind, _, resource = head[1].partition(" ")
            key = ("BROKER", "") if kind == "brokers" else (_KINDS[kind], resource)
            current = found[key] = {}
        elif match := _CONFIG.fullmatch(line):
            chain = tuple(_BEFORE_SYNONYM.split(match[4])) if match[4] else ()
            value = None if match[2] == "null" else match[2]
            current[match[1]] = Described(value, match[3] == "true", chain)
        else:
            assert not line.strip(), line
    return found


def static_configs(fixture: str) -> Mapping[str, str]:
    """What the described brokers' server.properties says, as far as Kafka shows it."""
    found: dict[str, str] = {}
    for path in sorted((DATA / "admin" / fixture).glob("configs-*.txt")):
        for configs in described_configs(fixture, path.name).values():
            for config in configs.values():
                if not config.sensitive:
                    found |= _static(config)
    return found


def _static(config: Described) -> dict[str, str]:
    """Those of the file that stand behind a config."""
    start = "STATIC_BROKER_CONFIG:"
    pairs = (s.removeprefix(start) for s in config.synonyms if s.startswith(start))
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
