"""What the fixed statements for AGE may and may not contain: SQL on its label tables, Cypher."""

from __future__ import annotations

import re
from string import Formatter
from uuid import UUID

import pytest

from kb_project.graph import sql
from kb_project.graph.age_store import GRAPH_NAME, graph_name


def is_cypher(statement: str) -> bool:
    return statement.lstrip().startswith(("MATCH", "UNWIND"))


STATEMENTS = [
    statement
    for name, value in vars(sql).items()
    if name.isupper() and not name.startswith("_")
    for statement in ([value] if isinstance(value, str) else value)
    if isinstance(statement, str) and " " in statement and not is_cypher(statement)
]
CYPHER = [one for one in vars(sql).values() if isinstance(one, str) and is_cypher(one)]
WRITES = [one for one in STATEMENTS if re.search(r"\b(INSERT|DELETE|ON CONFLICT)\b", one)]


def holes(statement: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(statement) if name is not None}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_only_the_tables_are_filled_in(statement: str):
    assert holes(statement) <= {"nodes", "edges"}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_value_travels_as_a_parameter(statement: str):
    placeholders = re.findall(r"%(\(\w+\))?s", statement)

    assert statement.count("%") == len(placeholders)


@pytest.mark.parametrize("statement", WRITES)
def test_rows_are_told_apart_by_our_id_never_by_the_graphs(statement: str):
    assert """'"id"'::ag_catalog.agtype""" in statement


@pytest.mark.parametrize("statement", [sql.UPSERT_NODES, sql.UPSERT_EDGES])
def test_writing_again_overwrites(statement: str):
    assert "DO UPDATE" in statement
    assert "properties = EXCLUDED.properties" in statement


def test_edges_go_before_the_nodes_they_hang_on():
    ends = [re.search(r"edge\.(\w+) = gone\.id", one) for one in sql.DELETE_EDGES_OF_NODES]

    assert [end.group(1) for end in ends if end] == ["start_id", "end_id"]


@pytest.mark.parametrize("query", CYPHER)
def test_patterns_are_directed_and_of_fixed_length(query: str):
    assert "*" not in query
    assert not re.search(r"\]-\(", query), "an undirected pattern scans every edge"


@pytest.mark.parametrize("query", CYPHER)
def test_queries_only_read_and_never_match_by_internal_id(query: str):
    assert not re.search(r"\b(CREATE|MERGE|SET|DELETE|REMOVE)\b", query)
    assert not re.search(r"(?<![\w.])id\(", query)


@pytest.mark.parametrize("query", CYPHER)
def test_labels_are_always_named(query: str):
    for left, right in re.findall(r"\((\w*)\)-|[->]\((\w*)\)", query):
        assert "n" in (left, right), "only a node already bound may go without its label"


@pytest.mark.parametrize("query", CYPHER)
def test_nothing_in_a_query_needs_escaping(query: str):
    assert "%" not in query
    assert "$cypher$" not in query


def test_a_graph_is_named_after_its_workspace():
    name = graph_name(UUID("12345678-1234-5678-1234-567812345678"))

    assert name == "kb_12345678123456781234567812345678"
    assert GRAPH_NAME.match(name)


@pytest.mark.parametrize("name", ["kb_x", "kb_" + "0" * 33, "kb_" + "G" * 32, 'kb_"; drop', ""])
def test_other_names_are_no_graphs(name: str):
    assert not GRAPH_NAME.match(name)
