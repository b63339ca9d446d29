"""Lists become arrays quickly, and the same arrays as psycopg would make."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import psycopg
import pytest
from django.db import DataError, connection
from hypothesis import given, strategies as st

from kb_project.sql import QuickListDumper, run_sql

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def back(values: Sequence[object], kind: str) -> list[object]:
    """What the database holds of a list."""
    if kind == "text":
        [(found,)] = run_sql("SELECT %(values)s::text[]", {"values": values})
    elif kind == "int8":
        [(found,)] = run_sql("SELECT %(values)s::int8[]", {"values": values})
    elif kind == "float8":
        [(found,)] = run_sql("SELECT %(values)s::float8[]", {"values": values})
    else:
        [(found,)] = run_sql("SELECT %(values)s::uuid[]", {"values": values})
    return list(found)


@pytest.mark.django_db
@given(values=st.lists(TEXTS, max_size=8))
def test_texts_come_back_as_they_were(values: list[object]):
    assert back(values, "text") == values


@pytest.mark.django_db
@pytest.mark.parametrize(
    "values",
    [
        ["{", "}", ",", '"', "\\", "\\\\\"'", " ", "", "NULL", "null", "%s", "%(x)s"],
        ["a\nb\tc\r", "  both ends  ", "末尾", "\u2028"],
        [""],
        [],
    ],
)
def test_signs_that_mean_something_to_arrays_are_only_signs(values: list[object]):
    assert back(values, "text") == values


@pytest.mark.django_db
@given(values=st.lists(st.uuids(), max_size=8))
def test_ids_come_back_as_they_were(values: list[object]):
    assert back(values, "uuid") == values


@pytest.mark.django_db
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8))
def test_whole_numbers_come_back_as_they_were(values: list[object]):
    assert back(values, "int8") == values


@pytest.mark.django_db
@given(values=st.lists(st.floats(allow_nan=False), max_size=8))
def test_numbers_come_back_as_they_were(values: list[object]):
    assert back(values, "float8") == values


@pytest.mark.django_db
def test_a_list_with_gaps_is_written_as_before():
    ids = [uuid.uuid4(), None]

    assert back(["a", None, "b"], "text") == ["a", None, "b"]
    assert back(ids, "uuid") == ids
    assert back([1, None, -3], "int8") == [1, None, -3]
    [(numbers,)] = run_sql("SELECT %(values)s::int8[]", {"values": [1, -2, 3]})
    assert numbers == [1, -2, 3]


@pytest.mark.django_db
def test_a_text_with_a_nul_is_refused_by_name():
    with pytest.raises(DataError, match="NUL"):
        back(["a\0b", "c"], "text")


@pytest.mark.django_db
def test_every_connection_writes_lists_this_way():
    connection.ensure_connection()
    adapters = connection.connection.adapters

    assert issubclass(adapters.get_dumper(list, psycopg.adapt.PyFormat.AUTO), QuickListDumper)
