"""The text of SQL statements: tokens, semicolons, names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.sql.statements import (
    is_blank,
    names_in,
    sources_in,
    split_statements,
    tokens,
    words_of,
)

TEXTS = st.text(alphabet="ab1 ;'\"`$-/*\n.é_", max_size=40)


@given(TEXTS)
def test_tokens_joined_are_the_text(text: str) -> None:
    """Nothing is lost, whatever is not closed."""
    assert text == "".join(piece for _, piece in tokens(text))


@given(st.lists(st.sampled_from(["select 1", "'a;b'", '"x;y"', "/* ; */ b", "$$;$$", "a -- ;\n"])))
def test_only_bare_semicolons_split(statements: list[str]) -> None:
    """Those in strings, names and comments do not."""
    text = "".join(f"{one};" for one in statements)
    assert (statements, "") == split_statements(text)


def test_what_is_not_complete_is_the_rest() -> None:
    """An open string takes what follows."""
    assert (["select 1"], " select ';") == split_statements("select 1; select ';")
    assert ([], "select 1") == split_statements("select 1")
    assert ([], "") == split_statements(";;; ; -- a\n;")


def test_blank_texts() -> None:
    """Spaces and comments say nothing."""
    assert is_blank(" \n-- a;b\n/* c */")
    assert not is_blank("'a'")


def test_sources_stand_where_tables_can() -> None:
    """Behind from, join and the like; columns and a function's argument do not."""
    text = "select topics, count(members) FROM /* of */ Groups g JOIN `Offsets` o, a -- b"
    assert {"groups", "offsets", "a"} == sources_in(text)
    assert {"groups"} == sources_in("describe groups") == sources_in("table groups")


def test_names_are_words_and_quoted_names_in_lower_case() -> None:
    """Strings and comments hold none."""
    text = 'SELECT "A""b", `C`, d_1 FROM Topics -- brokers\nwhere x = \'acls\''
    assert {'a"b', "c", "d_1", "topics", "select", "from", "where", "x"} == names_in(text)
    assert ("select", "d_1", "from", "topics", "where", "x") == words_of(text)


def test_columns_behind_a_comma_are_no_sources() -> None:
    """A comma stands between tables behind FROM alone, also around a query of its own."""
    text = (
        "select topic, replicas from partitions, (select leader, isr from topics, acls) x, groups"
    )
    assert {"partitions", "topics", "acls", "groups"} == sources_in(text)
    assert {"partitions"} == sources_in("select 1 from partitions order by topic, replicas")
    assert {"partitions"} == sources_in("select 1 from partitions where f(topic, replicas) and a")
