from __future__ import annotations

import re
from uuid import UUID

import pytest

from kb_project.graph import queries
from kb_project.graph.age_store import GRAPH_NAME, graph_name


@pytest.mark.parametrize("query", queries.ALL)
def test_patterns_are_directed_and_of_fixed_length(query: str):
    assert "*" not in query
    assert not re.search(r"\]-\(", query), "an undirected pattern scans every edge"


@pytest.mark.parametrize("query", queries.ALL)
def test_queries_only_read_and_never_match_by_internal_id(query: str):
    assert not re.search(r"\b(CREATE|MERGE|SET|DELETE|REMOVE)\b", query)
    assert not re.search(r"(?<![\w.])id\(", query)


@pytest.mark.parametrize("query", queries.ALL)
def test_labels_are_always_named(query: str):
    for left, right in re.findall(r"\((\w*)\)-|[->]\((\w*)\)", query):
        assert "n" in (left, right), "only a node already bound may go without its label"


@pytest.mark.parametrize("query", queries.ALL)
def test_nothing_in_a_query_needs_escaping(query: str):
    assert "%" not in query
    assert "$cypher$" not in query


def test_every_query_of_the_module_is_listed():
    texts = {value for name, value in vars(queries).items() if name.isupper() and name != "ALL"}

    assert texts == set(queries.ALL)


def test_a_graph_is_named_after_its_workspace():
    name = graph_name(UUID("12345678-1234-5678-1234-567812345678"))

    assert name == "kb_12345678123456781234567812345678"
    assert GRAPH_NAME.match(name)


@pytest.mark.parametrize("name", ["kb_x", "kb_" + "0" * 33, "kb_" + "G" * 32, 'kb_"; drop', ""])
def test_other_names_are_no_graphs(name: str):
    assert not GRAPH_NAME.match(name)
