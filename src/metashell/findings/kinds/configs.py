"""Configs that somebody forgot, lowered or misspelled."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Severity

_of = partial(
    FindingKind,
    about=About.CONFIG,
    counts="configs",
    finder="metashell.judgement.image_findings:find",
)

KINDS: Final = (
    _of(
        code="leftover-throttle",
        severity=Severity.WARNING,
        order=100,
        headline="replication of {subjects} is throttled",
        meaning="replication is throttled and no reassignment runs: replicas catch up slowly",
        do="run kafka-reassign-partitions.sh --verify with the same plan, or delete these configs",
        see="config {subject}",
        source="org.apache.kafka.tools.reassign.ReassignPartitionsCommand.clearAllThrottles",
    ),
    _of(
        code="lowered-config",
        severity=Severity.WARNING,
        order=102,
        headline="{subjects}: lowered {why}",
        meaning="a lower value keeps less data, or confirms writes with fewer replicas",
        do="check that this was intended, or set the old value again",
        see="changes /image/configs/{subject}",
        source="org.apache.kafka.storage.internals.log.LogConfig",
    ),
    _of(
        code="config-of-gone-resource",
        severity=Severity.NOTE,
        order=140,
        headline="{count} {is} set for {subjects}, which do not exist",
        meaning="configs are set for a resource that does not exist: a new one of that name gets"
        " them",
        do="delete the configs, unless the resource is to be created again",
        see="config --gone {subject}",
        source="org.apache.kafka.controller.ConfigurationControlManager",
    ),
    _of(
        code="unknown-config",
        severity=Severity.NOTE,
        order=150,
        headline="{count} of {subjects} {has} a key that no Kafka release knows",
        meaning="no Kafka release knows these keys: they probably have no effect",
        do="check the spelling, or find the plugin that reads the key",
        see="config --unknown {subject}",
        source="org.apache.kafka.server.config.DynamicConfig",
    ),
)
