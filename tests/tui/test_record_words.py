"""Codes in a record's fields have Kafka's words beside them, in Records and in a node's record."""

from __future__ import annotations

import json

import pytest

from kraftgen.batch import encode_batch
from metashell.tui.node.node_detail import DetailMode
from metashell.tui.records.short_lines import with_words
from metashell.tui.views.explorer import ExplorerView
from metashell.tui.views.records import RecordsView
from support.live import Cluster
from support.logs import secret_config
from support.pilot import WIDE, Driver, drive, session_on


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (
            "ACCESS_CONTROL_ENTRY_RECORD",
            {"resourceType": 2, "patternType": 3, "operation": 8, "permissionType": 99},
            {
                "resourceType": "TOPIC (2)",
                "patternType": "LITERAL (3)",
                "operation": "DESCRIBE (8)",
                "permissionType": 99,
            },
        ),
        (
            "PARTITION_CHANGE_RECORD",
            {"partitionId": 1, "leaderRecoveryState": 1},
            {"partitionId": 1, "leaderRecoveryState": "RECOVERING (1)"},
        ),
        (
            "FEATURE_LEVEL_RECORD",
            {"name": "metadata.version", "featureLevel": 7},
            {"name": "metadata.version", "featureLevel": "3.3-IV3 (7)"},
        ),
        (
            "REGISTER_BROKER_RECORD",
            {"endPoints": [{"name": "A", "securityProtocol": 1}], "fenced": True},
            {"endPoints": [{"name": "A", "securityProtocol": "SSL (1)"}], "fenced": True},
        ),
        ("NO_SUCH_RECORD", {"resourceType": 2}, {"resourceType": 2}),
    ],
)
def test_words(kind: str, data: dict[str, object], words: dict[str, object]) -> None:
    """A code that is known has its word, whatever else stays as it is."""
    assert words == with_words(kind, data)


def test_shown_beside_secrets() -> None:
    """Both places show the word; a secret stays hidden; the JSON that is copied has the code."""

    async def test(driver: Driver) -> None:
        await driver.look("records")
        view = driver.view
        assert isinstance(view, RecordsView)
        assert view.detail is not None
        assert ("resourceType", "BROKER (4)") in view.detail.fields
        assert 4 == json.loads(view.detail.json)["data"]["resourceType"]
        driver.app.go("/image/configs/BROKER:1/ssl.key.password")
        await driver.look("explorer")
        explorer = driver.view
        assert isinstance(explorer, ExplorerView)
        explorer.pane.look(DetailMode.RECORD)
        await driver.settled()
        assert "BROKER (4)" in driver.screen()
        assert "hunter2" not in driver.screen()

    drive(
        test,
        session_on(Cluster(encode_batch([secret_config()], base_offset=0, leader_epoch=1)).source),
        size=WIDE,
    )
