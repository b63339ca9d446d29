"""Which lines are rows of a table."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_project.backup.tables import Column, Table, is_file_of
from kb_project.backup.validation import Shape
from kb_project.errors import InputError

ID = "0b82d410-3162-48e3-8d90-6f3cf382c606"
TABLE = Table(
    "lamps",
    "harbour",
    (
        Column("id", "uuid", is_required=True),
        Column("workspace_id", "uuid", is_required=True),
        Column("name", "character varying", 10, is_required=True),
        Column("keeper_id", "bigint", is_person=True),
        Column("tags", "character varying", 5, is_array=True, is_required=True),
        Column("lit", "boolean", is_required=True),
        Column("power", "smallint"),
        Column("cost", "numeric"),
        Column("height", "double precision"),
        Column("since", "timestamp with time zone"),
        Column("day", "date"),
        Column("sealed", "bytea"),
        Column("vector", "halfvec"),
        Column("notes", "jsonb"),
        Column("place", "point"),
    ),
)
ROW: dict[str, Any] = {
    "id": ID,
    "workspace_id": ID,
    "name": "Skarrow",
    "keeper_id": 3,
    "tags": ["old"],
    "lit": True,
    "power": 100,
    "cost": "12.50",
    "height": 3.5,
    "since": "1987-05-11T08:00:00.123456+00:00",
    "day": "1987-05-11",
    "sealed": "\\x00ff",
    "vector": [0.5, 1],
    "notes": {"any": [None]},
    "place": "(1,2)",
}


def read(**values: Any) -> dict[str, Any]:
    return Shape(TABLE).row(json.dumps(ROW | values).encode(), 1, workspace_id=ID)


def test_a_row_is_a_row():
    assert read() == ROW


@pytest.mark.parametrize("name", ["keeper_id", "power", "cost", "since", "vector", "notes"])
def test_what_may_be_empty_may_be_empty(name: str):
    assert read(**{name: None})[name] is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "none"),
        ("id", ID.upper()),
        ("id", f"urn:uuid:{ID}"),
        ("id", None),
        ("workspace_id", ID.replace("0", "1")),
        ("name", "Skarrow light"),
        ("name", "a\0b"),
        ("name", "\udc00"),
        ("name", 5),
        ("name", None),
        ("tags", "old"),
        ("tags", ["too long"]),
        ("tags", [None]),
        ("lit", 1),
        ("power", 40_000),
        ("power", True),
        ("power", "1"),
        ("power", 1.5),
        ("cost", 12.5),
        ("cost", "much"),
        ("height", "high"),
        ("since", "then"),
        ("since", 5),
        ("day", "1987"),
        ("sealed", "00ff"),
        ("sealed", "\\x0"),
        ("vector", "[1]"),
        ("vector", [True]),
        ("vector", [None]),
    ],
)
def test_what_does_not_belong_there(name: str, value: Any):
    with pytest.raises(InputError, match="Row 1 of lamps") as caught:
        read(**{name: value})

    assert caught.value.code == "backup_damaged"


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"id": 1}'])
def test_what_is_no_row(line: bytes):
    with pytest.raises(InputError, match="does not match the table's columns"):
        Shape(TABLE).row(line, 1)


@given(st.binary(max_size=200))
def test_nothing_but_a_refusal_comes_of_any_bytes(line: bytes):
    with pytest.raises(InputError):
        Shape(TABLE).row(line, 1)


@given(st.dictionaries(st.sampled_from(sorted(ROW)), st.from_type(object) | st.text(), min_size=1))
def test_nothing_but_a_refusal_or_a_row_comes_of_any_values(values: dict[str, Any]):
    line = json.dumps(ROW | values, default=str).encode()
    try:
        row = Shape(TABLE).row(line, 1, workspace_id=ID)
    except InputError:
        return
    assert row.keys() == ROW.keys()


def test_no_text_of_a_document_is_in_a_refusal():
    with pytest.raises(InputError) as caught:
        read(name="Skarrow is a secret")

    assert "secret" not in caught.value.sentence


@pytest.mark.parametrize(
    "path",
    ["w/../v/x", "../w/x", "/w/x", "w//x", "w/", "w", "v/x", "w/.x", "w/x y", "w/x\n", "", "w/a/b"],
)
def test_a_path_that_leads_elsewhere(path: str):
    assert not is_file_of(path, "w") or "/" not in path


def test_a_path_of_the_workspace():
    assert is_file_of("w/0b82d410-3162-48e3", "w")
