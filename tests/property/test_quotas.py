"""What a client gets of its quotas is what Kafka's two steps give: tags first, then a limit.

The oracle does it as a broker does: per key it keeps which kinds of quotas were ever set, makes the
tags of the client from that, and looks the limit up by the tags.
"""

from __future__ import annotations

from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.answers.quotas import CLIENT_KEYS, Client, Quota, effective
from support.seeds import examples

NAMES: Final = ["a", "b", None]

entities = st.dictionaries(
    st.sampled_from(["user", "client-id", "user", "client-id", "ip", "other"]),
    st.sampled_from([*NAMES, "127.0.0.1"]),
    min_size=1,
    max_size=2,
)
quotas = st.lists(
    st.builds(
        Quota,
        index=st.just(0),
        entity=entities,
        key=st.sampled_from([CLIENT_KEYS[0], CLIENT_KEYS[0], CLIENT_KEYS[1], "unknown"]),
        value=st.floats(0, 1e6),
    ),
    max_size=8,
)


def broker(drawn: list[Quota], key: str, user: str, client_id: str) -> float | None:
    """A broker's limit for a client."""
    overridden: dict[tuple[object, object], float] = {}
    kinds: set[str] = set()
    absent = object()
    for quota in drawn:
        who, what = quota.entity.get("user", absent), quota.entity.get("client-id", absent)
        if quota.key != key or "ip" in quota.entity or who is absent is what:
            continue
        kinds.add("id" if who is absent else "user" if what is absent else "both")
        overridden[who, what] = quota.value

    def tags() -> tuple[str, str]:
        if kinds <= {"id"}:
            return "", client_id
        if kinds == {"user"}:
            return user, ""
        if kinds == {"both"}:
            return user, client_id
        for who in (user, None):
            if (who, client_id) in overridden or (who, None) in overridden:
                return user, client_id
            if (who, absent) in overridden:
                return user, ""
        return "", client_id

    user_tag, id_tag = tags()
    order: list[tuple[object, object]]
    if user_tag and id_tag:
        order = [(who, what) for who in (user_tag, None) for what in (id_tag, None)]
    elif user_tag:
        order = [(user_tag, absent), (None, absent)]
    else:
        order = [(absent, id_tag), (absent, None)] if id_tag else []
    return next((overridden[level] for level in order if level in overridden), None)


@settings(max_examples=examples(50))
@given(quotas, st.sampled_from(["a", "c"]), st.sampled_from(["a", "c", ""]))
def test_effective(drawn: list[Quota], user: str, client_id: str) -> None:
    """For clients that quotas name, that none names, and without an id."""
    found = effective(drawn, Client(user, client_id))

    for key in CLIENT_KEYS:
        first = found.get(key, [])
        assert broker(drawn, key, user, client_id) == (first[0].value if first else None)


@given(quotas)
def test_who_is_not_named_gets_the_defaults(drawn: list[Quota]) -> None:
    """A client of which nothing is said is as one that no quota names."""
    strangers = effective(drawn, Client("x", "y"))

    assert strangers == effective(drawn, Client())
