"""JSON as paths and values: every value is there, under a path that leads to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers.json_records import _leaves, _load, _naming_key

KEYS = st.text(alphabet="abc", min_size=1, max_size=3)
VALUES = st.integers() | st.text(alphabet="xyz 灯", max_size=6) | st.booleans() | st.none()
TREES = st.recursive(
    VALUES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=12,
)


def leaves(value: Any) -> list[tuple[str, str]]:
    return list(_leaves("", _load(json.dumps(value))))


def strings_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for below in value.values() for text in strings_in(below)]
    if isinstance(value, list):
        return [text for below in value for text in strings_in(below)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": {"b": 1}}, [("a.b", "1")]),
        ({"a": [1, "two", None, True]}, [("a", "1, two, true")]),
        ({"a": [[1, 2], [3]]}, [("a[1]", "1, 2"), ("a[2]", "3")]),
        ({"a": [{"b": 1, "c": ""}]}, [("a[1]", "b: 1")]),
        ({"a": [{"b": [1, 2]}]}, [("a[1].b", "1, 2")]),
        ({"": 1, " \n": 2}, [("value", "1"), ("value", "2")]),
        ({"two\nlines": 1}, [("two lines", "1")]),
        ([], [("", "")]),
        ({}, []),
        (None, [("", "")]),
        (False, [("", "false")]),
    ],
)
def test_a_path_leads_to_its_value(value, expected):
    assert leaves(value) == expected


@given(TREES)
def test_every_word_of_a_tree_is_found_in_its_leaves(tree):
    shown = " ".join(value for _, value in leaves(tree))

    for text in strings_in(tree):
        assert " ".join(text.split()) in " ".join(shown.split())


@given(st.dictionaries(KEYS, st.integers(), max_size=5))
def test_flat_fields_keep_the_order_of_the_file(fields):
    assert leaves(fields) == [(key, str(value)) for key, value in fields.items()]


@pytest.mark.parametrize("depth", [10, 400])
def test_a_deep_path_is_walked_without_recursion(depth):
    ((path, value),) = leaves(json.loads('{"a":' * depth + "1" + "}" * depth))

    assert path.split(".") == ["a"] * depth
    assert value == "1"


@pytest.mark.parametrize("number", ["1.10", "1e400", "123456789012345678901234567890", "-0.0"])
def test_numbers_are_never_counted_with(number):
    assert _load(number) == number


@pytest.mark.parametrize(
    ("record", "key"),
    [
        ('{"id": 1, "name": "Ada"}', "name"),
        ('{"name": "Ada", "title": "Head"}', "title"),
        ('{"name": "Ada"}', ""),
        ('{"id": 1, "name": ""}', ""),
        ('{"id": 1, "name": null}', ""),
        ('{"id": 1, "name": "a", "name": "b"}', ""),
        ('{"id": 1, "id": 2, "name": "a"}', ""),
        ('{"id": 1}', ""),
    ],
)
def test_the_field_that_names_a_record_is_short_single_and_not_alone(record, key):
    assert _naming_key(_load(record)) == key


def test_a_long_field_names_nothing():
    assert _naming_key(_load(json.dumps({"id": 1, "name": "a" * 200}))) == "name"
    assert _naming_key(_load(json.dumps({"id": 1, "name": "a" * 201}))) == ""
