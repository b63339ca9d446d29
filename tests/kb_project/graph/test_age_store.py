from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from kb_project.graph import age_store
from kb_project.graph.age_store import AgeGraphStore, has_age
from kb_project.graph.ports import GraphEdge, GraphNode
from kb_project.ports import graph_store

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_values_come_back_but_for_nul(value: object):
    assert age_store.from_agtype(age_store.to_agtype(value)) == without_nul(value)


def without_nul(value: object) -> object:
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, list):
        return [without_nul(item) for item in value]
    if isinstance(value, dict):
        return {without_nul(key): without_nul(item) for key, item in value.items()}
    return value


def test_a_raw_tab_inside_a_string_is_read():
    assert age_store.from_agtype('"a\tb"') == "a\tb"


def test_a_number_without_a_value_is_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        age_store.to_agtype({"weight": float("nan")})


def test_a_node_survives_the_round_trip():
    node = GraphNode(uuid4(), 'O"Neill \\ 朱', "person", 3)

    assert age_store.as_node(age_store.from_agtype(age_store.node_properties(node))) == node


def test_an_edge_survives_the_round_trip():
    edge = GraphEdge(uuid4(), uuid4(), uuid4(), "pays", 2)
    ends = {"source": str(edge.source), "target": str(edge.target)}

    assert age_store.as_edge(age_store.from_agtype(age_store.edge_properties(edge)) | ends) == edge


@pytest.mark.django_db
def test_the_test_database_has_age_and_so_age_answers():
    assert has_age()
    assert isinstance(graph_store(), AgeGraphStore)
