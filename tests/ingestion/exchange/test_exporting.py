"""What networkx reads back of an export is what was written, whatever the names are."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO, TypeAlias

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from ingestion.exchange import exporting
from ingestion.exchange.exporting import GraphSource, as_text, xml_text
from ingestion.exchange.records import NODE_TYPES, EntityRecord, FactRecord

NAMES = [
    "Ada Lind",
    "Δελφοί",
    "北京大学",
    "الميناء",
    "שלום",
    "👩‍🔬 lab",
    'O"Brien & <Sons>',
    "]]>",
    "&amp;",
    "line\nbreak\r\nand\ttab",
    " leading and trailing ",
    "control\x01\x1f\x0b",
    "\ufffe\uffff",
    "=1+1",
    "'=1+1",
    "x" * 5_000,
]
texts = st.one_of(
    st.sampled_from(NAMES), st.text(st.characters(exclude_characters="\0", codec="utf-8"))
)


@st.composite
def graphs(draw: Callable[..., Any]) -> tuple[list[EntityRecord], list[FactRecord]]:
    ids = [f"entity-{number}" for number in range(draw(st.integers(0, 5)))]
    entities = [
        EntityRecord(
            id=one,
            name=draw(texts),
            type=draw(texts),
            aliases=draw(st.lists(texts, max_size=3)),
            description=draw(texts),
            written_by="",
            mentions=draw(st.integers(0, 10**9)),
            origin=draw(st.sampled_from(["person", "documents"])),
            topics=[],
        )
        for one in ids
    ]
    pairs = [(a, b) for a in ids for b in ids if a != b]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    facts = [_fact(draw, number, *pair) for number, pair in enumerate(chosen)]
    return entities, facts


def _fact(draw: Callable[..., Any], number: int, source: str, target: str) -> FactRecord:
    quote = {"quote": draw(texts), "predicate": "", "kind": "stated", "document": draw(texts)}
    place = {"document_id": "d", "version": 1, "start": 0, "end": 3}
    return FactRecord(
        id=f"fact-{number}",
        source=source,
        source_name="",
        source_type="",
        target=target,
        target_name="",
        target_type="",
        predicates=draw(st.lists(texts, max_size=3)),
        description=draw(texts),
        weight=draw(st.floats(0, 1e6)),
        origin="documents",
        evidence_count=1,
        evidence=[quote | place],
    )


Net: TypeAlias = "nx.Graph[str]"


def written(write: Callable[[BinaryIO, GraphSource], None], graph: Any) -> bytes:
    file = io.BytesIO()
    write(file, GraphSource("Harbour", lambda: graph[0], lambda: graph[1]))
    return file.getvalue()


def expected(graph: Any, shown: Callable[[Any], Any]) -> Net:
    """The graph as networkx would hold it, with lists and texts as a format shows them."""
    made: Net = nx.DiGraph()
    for one in graph[0]:
        made.add_node(one.id, **{k: shown(v) for k, v in one.attributes.items()})
    for one in graph[1]:
        values = {k: shown(v) for k, v in one.attributes.items()}
        made.add_edge(one.source, one.target, id=one.id, **values)
    return made


def in_xml(value: Any) -> Any:
    return xml_text(value) if isinstance(value, str | list) else value


def contents(graph: Net) -> tuple[dict[str, Any], list[Any]]:
    edges = sorted((a, b, sorted(data.items())) for a, b, data in graph.edges(data=True))
    return {one: dict(data) for one, data in graph.nodes(data=True)}, edges


def not_empty(graph: Net) -> Net:
    """Without values of which XML keeps nothing, such as a list of one empty name."""
    for _, data in [*graph.nodes(data=True), *((0, d) for *_, d in graph.edges(data=True))]:
        for name in [name for name, value in data.items() if value == ""]:
            del data[name]
    return graph


@given(graphs())
def test_networkx_reads_graphml_back_equal(graph: Any):
    read = nx.read_graphml(io.BytesIO(written(exporting.write_graphml, graph)))

    assert read.is_directed()
    assert contents(not_empty(read)) == contents(not_empty(expected(graph, in_xml)))


@given(graphs())
def test_networkx_reads_gexf_back_equal(graph: Any):
    read = nx.read_gexf(io.BytesIO(written(exporting.write_gexf, graph)))

    made = expected(graph, in_xml)
    for _, data in made.nodes(data=True):
        data["label"] = data.get("name", "")
    assert contents(not_empty(nx.DiGraph(read))) == contents(not_empty(made))


@given(graphs())
def test_networkx_reads_node_link_json_back_equal(graph: Any):
    data = json.loads(written(exporting.write_node_link, graph))

    assert contents(nx.node_link_graph(data, edges="edges")) == contents(
        expected(graph, lambda value: value)
    )


@given(graphs())
def test_tables_hold_every_value_and_no_formula(graph: Any):
    with zipfile.ZipFile(io.BytesIO(written(exporting.write_tables, graph))) as archive:
        entities, facts = (
            list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8-sig"), newline="")))
            for name in ("entities.csv", "facts.csv")
        )

    for row, one in zip(entities, graph[0], strict=True):
        assert {k: cell_text(v) for k, v in row.items() if v} == {
            k: v for k, v in {"id": one.id, **_texts(one)}.items() if v
        }
    assert [row["id"] for row in facts] == [one.id for one in graph[1]]
    cells = [cell for row in (*entities, *facts) for cell in row.values()]
    assert not [cell for cell in cells if re.match(r"[=+\-@\t\r]", cell)]


def cell_text(cell: str) -> str:
    """The text that ``safe_cell`` was given."""
    return cell[1:] if re.match(r"'+[=+\-@\t\r]", cell) else cell


def _texts(one: EntityRecord) -> dict[str, str]:
    return {name: as_text(value) for name, value in one.attributes.items()}


def test_control_characters_that_xml_cannot_hold_are_replaced():
    assert xml_text("a\x01b\x1fc\ufffe") == "a\ufffdb\ufffdc\ufffd"
    assert xml_text("a\nb\tc\rd") == "a\nb\tc\rd"


@pytest.mark.parametrize("name", sorted(NODE_TYPES))
def test_every_attribute_of_an_entity_is_declared(name: str):
    assert name.encode() in written(exporting.write_graphml, ([], []))
