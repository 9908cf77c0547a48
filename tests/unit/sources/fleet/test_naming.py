"""What the directories of a fleet are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.fs.path import needs_encoding, split
from metashell.sources.fleet.naming import unique_names

LOG = "__cluster_metadata-0"


def test_cluster_ids_where_they_differ() -> None:
    """Whatever the directories are called."""
    assert ["idA", "idB"] == unique_names([(f"/a/{LOG}", "idA"), (f"/b/{LOG}", "idB")])


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ([f"/backups/n1/{LOG}", f"/backups/n2/{LOG}"], ["n1", "n2"]),
        (["/backups/n1", "/backups/n2/"], ["n1", "n2"]),
        (["/backups/n1/data", "/backups/n2/data"], ["n1", "n2"]),
        ([f"s3://b/c1/h1/{LOG}", f"s3://b/c1/h2/{LOG}"], ["h1", "h2"]),
        (["/b/c1/h1", "/b/c1/h2", "/b/c2/h1", "/b/c2/h2"], ["c1-h1", "c1-h2", "c2-h1", "c2-h2"]),
        (["/a", "/a"], ["a", "a-2"]),
        (["/a", "/b", "/b/a"], ["a", "b", "b-a"]),
        (["/x y/d", "/x%y/d"], ["x_y-d", "x_y-d-2"]),
        (["/", "//"], ["directory", "directory-2"]),
    ],
)
def test_paths_where_ids_do_not_tell(paths: list[str], names: list[str]) -> None:
    """By the component that differs, else by more, else by number."""
    assert names == unique_names([(path, "one") for path in paths])
    assert names == unique_names([(path, None) for path in paths])


def test_a_path_never_takes_the_name_of_a_cluster() -> None:
    """An id is what a script knows a cluster by."""
    places = [("/b/n1", "same"), ("/b/idA", "same"), ("/x", "idA")]
    assert ["n1", "idA-2", "idA"] == unique_names(places)


@given(
    st.lists(
        st.tuples(
            st.text("ab/.%* \n\u202e\\", max_size=8),
            st.none() | st.text("ab/.%-\n", min_size=1, max_size=3),
        ),
        max_size=8,
    )
)
def test_always_different_and_always_one_component(places: list[tuple[str, str | None]]) -> None:
    """Whatever paths and ids hold."""
    names = unique_names(places)
    assert len(places) == len(names) == len(set(names))
    assert all([name] == split(name) and not needs_encoding(name, quoting=True) for name in names)
