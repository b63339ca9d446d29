from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from kb_project.graph import agtype
from kb_project.graph.ports import GraphEdge, GraphNode

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_values_come_back_but_for_nul(value: object):
    assert agtype.from_agtype(agtype.to_agtype(value)) == without_nul(value)


def without_nul(value: object) -> object:
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, list):
        return [without_nul(item) for item in value]
    if isinstance(value, dict):
        return {without_nul(key): without_nul(item) for key, item in value.items()}
    return value


def test_a_raw_tab_inside_a_string_is_read():
    assert agtype.from_agtype('"a\tb"') == "a\tb"


def test_a_number_without_a_value_is_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        agtype.to_agtype({"weight": float("nan")})


def test_a_node_survives_the_round_trip():
    node = GraphNode(uuid4(), 'O"Neill \\ 朱', "person", 3)

    assert agtype.as_node(agtype.from_agtype(agtype.node_properties(node))) == node


def test_an_edge_survives_the_round_trip():
    edge = GraphEdge(uuid4(), uuid4(), uuid4(), "pays", 2)
    ends = {"source": str(edge.source), "target": str(edge.target)}

    assert agtype.as_edge(agtype.from_agtype(agtype.edge_properties(edge)) | ends) == edge
