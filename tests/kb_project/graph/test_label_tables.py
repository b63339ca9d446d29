"""What the fixed statements on AGE's label tables may and may not contain."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from kb_project.graph import label_tables

STATEMENTS = [
    statement
    for name, value in vars(label_tables).items()
    if name.isupper() and not name.startswith("_")
    for statement in ([value] if isinstance(value, str) else value)
    if isinstance(statement, str) and " " in statement
]
WRITES = [one for one in STATEMENTS if re.search(r"\b(INSERT|DELETE|ON CONFLICT)\b", one)]


def holes(statement: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(statement) if name is not None}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_only_the_tables_and_the_tenant_are_filled_in(statement: str):
    assert holes(statement) <= {"nodes", "edges", "workspace"}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_value_travels_as_a_parameter(statement: str):
    placeholders = re.findall(r"%(\(\w+\))?s", statement)

    assert statement.count("%") == len(placeholders)


@pytest.mark.parametrize("statement", WRITES)
def test_rows_are_told_apart_by_our_id_never_by_the_graphs(statement: str):
    assert """'"id"'::ag_catalog.agtype""" in statement


@pytest.mark.parametrize("statement", [label_tables.UPSERT_NODES, label_tables.UPSERT_EDGES])
def test_writing_again_overwrites(statement: str):
    assert "DO UPDATE" in statement
    assert "properties = EXCLUDED.properties" in statement


@pytest.mark.parametrize("table", ["{nodes}", "{edges}"])
@pytest.mark.parametrize(
    "what", ["CREATE UNIQUE INDEX ON", "ENABLE ROW LEVEL", "FORCE ROW LEVEL", "CREATE POLICY"]
)
def test_both_label_tables_are_locked_alike(table: str, what: str):
    assert any(what in one and table in one for one in label_tables.PREPARE_LABELS)


def test_a_policy_lets_nobody_in_who_has_set_no_workspace():
    policies = [one for one in label_tables.PREPARE_LABELS if "POLICY" in one]

    assert len(policies) == 2
    assert all("nullif(current_setting('app.workspace_id', true), '')" in one for one in policies)


def test_edges_go_before_the_nodes_they_hang_on():
    ends = [re.search(r"edge\.(\w+) = gone\.id", one) for one in label_tables.DELETE_EDGES_OF_NODES]

    assert [end.group(1) for end in ends if end] == ["start_id", "end_id"]


def test_the_labels_made_are_the_labels_written():
    made = " ".join(label_tables.CREATE_GRAPH)

    for label, statement in (
        (label_tables.NODE_LABEL, label_tables.UPSERT_NODES),
        (label_tables.EDGE_LABEL, label_tables.UPSERT_EDGES),
    ):
        assert f"'{label}'" in made
        assert f"'{label}'" in statement
