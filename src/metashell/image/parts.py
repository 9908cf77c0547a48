"""Which messages each part of the image is told by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

BROKERS: Final = (
    "RegisterBrokerRecord",
    "UnregisterBrokerRecord",
    "FenceBrokerRecord",
    "UnfenceBrokerRecord",
    "BrokerRegistrationChangeRecord",
)
CONTROLLERS: Final = ("RegisterControllerRecord", "UnregisterControllerRecord")
ACLS: Final = ("AccessControlEntryRecord", "RemoveAccessControlEntryRecord")
TOKENS: Final = ("DelegationTokenRecord", "RemoveDelegationTokenRecord")
SCRAM: Final = ("UserScramCredentialRecord", "RemoveUserScramCredentialRecord")
TOPICS: Final = ("TopicRecord", "RemoveTopicRecord")
PARTITIONS: Final = ("PartitionRecord", "PartitionChangeRecord")

FOLDED_FROM: Final[Mapping[tuple[str, ...], Sequence[str]]] = {
    ("features", "metadata_version"): ("FeatureLevelRecord",),
    ("producer_ids",): ("ProducerIdsRecord",),
    ("brokers",): BROKERS,
    ("controllers",): CONTROLLERS,
    ("topics",): TOPICS,
    ("partitions", "partition_layout"): (*TOPICS, *PARTITIONS, "ClearElrRecord"),
    ("configs",): (*TOPICS, "ConfigRecord"),
    ("quotas",): ("ClientQuotaRecord",),
    ("acls",): ACLS,
    ("scram",): SCRAM,
    ("tokens",): TOKENS,
    ("quorum",): ("KRaftVersionRecord", "VotersRecord", "LeaderChangeMessage"),
}
"""Attributes of `metashell.image.image.Image`, and all messages that a record of can change them.

An attribute that is not named may change with any record.
"""
