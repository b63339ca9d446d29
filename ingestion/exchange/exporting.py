"""Export the graph of a workspace, whole or in part: GraphML, GEXF, node-link JSON, or tables.

The file is written to the disk from one state of the database, then sent: what fails says so
instead of ending early, and memory holds one batch of rows.

Entities and facts arrive one by one and leave at once: a graph is never in memory as a whole.
networkx reads every graph format back as it was written. Its own writers want the whole graph
first, so XML is written with lxml's incremental writer. Where a format has no lists, names are one
a line, and evidence is JSON. XML cannot hold control characters: U+FFFD is in their place.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Final

from django.http import StreamingHttpResponse
from django.utils import timezone
from lxml import etree

from ingestion.exchange import records
from ingestion.exchange.records import (
    EDGE_TYPES,
    NODE_TYPES,
    EntityRecord,
    FactRecord,
    Scope,
    Value,
)
from kb_project.errors import InputError
from kb_project.http.downloads import download, safe_cell
from workspaces import access, audit, editions
from workspaces.audit import Target
from workspaces.models import AuditAction, User, Workspace
from workspaces.models.people import EXPORT

# --- files ----------------------------------------------------------------------------------------
GRAPHML: Final = "http://graphml.graphdrawing.org/xmlns"
GEXF: Final = "http://www.gexf.net/1.2draft"
ENTITY_COLUMNS: Final = ("id", *NODE_TYPES)
FACT_COLUMNS: Final = (
    *("id", "source", "source_name", "source_type", "target", "target_name", "target_type"),
    *EDGE_TYPES,
)
ENTITIES_FILE, FACTS_FILE = "entities.csv", "facts.csv"
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class GraphSource:
    """What to write. Either may be read once."""

    name: str
    entities: Callable[[], Iterable[EntityRecord]]
    facts: Callable[[], Iterable[FactRecord]]


def as_text(value: Value) -> str:
    """A value as one text, for formats without lists.

    >>> as_text(["A", "B"]), as_text([{"start": 1}]), as_text(1.5)
    ('A\\nB', '[{"start": 1}]', '1.5')
    """
    if not isinstance(value, list):
        return str(value)
    if all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def xml_text(value: Value) -> str:
    return _NOT_IN_XML.sub("\ufffd", as_text(value))


# --- graph formats --------------------------------------------------------------------------------
def write_graphml(file: BinaryIO, graph: GraphSource) -> None:
    with etree.xmlfile(file, encoding="utf-8") as xml:
        xml.write_declaration()
        with xml.element("graphml", nsmap={None: GRAPHML}):
            for owner, types in (("node", NODE_TYPES), ("edge", EDGE_TYPES)):
                for name, kind in types.items():
                    key = {"id": f"{owner}-{name}", "for": owner}
                    key |= {"attr.name": name, "attr.type": kind}
                    xml.write(etree.Element("key", key))
            with xml.element("graph", edgedefault="directed"):
                for entity in graph.entities():
                    node = etree.Element("node", id=entity.id)
                    xml.write(_with_data(node, "node", entity.attributes))
                for fact in graph.facts():
                    edge = etree.Element("edge", _ends(fact))
                    xml.write(_with_data(edge, "edge", fact.attributes))


def _with_data(
    element: etree._Element, owner: str, attributes: Mapping[str, Value]
) -> etree._Element:
    for name, value in attributes.items():
        etree.SubElement(element, "data", key=f"{owner}-{name}").text = xml_text(value)
    return element


def write_gexf(file: BinaryIO, graph: GraphSource) -> None:
    with etree.xmlfile(file, encoding="utf-8") as xml:
        xml.write_declaration()
        with (
            xml.element("gexf", version="1.2", nsmap={None: GEXF}),
            xml.element("graph", defaultedgetype="directed", mode="static"),
        ):
            for owner, types in (("node", NODE_TYPES), ("edge", EDGE_TYPES)):
                with xml.element("attributes", {"class": owner, "mode": "static"}):
                    for name, kind in types.items():
                        xml.write(etree.Element("attribute", id=name, title=name, type=kind))
            with xml.element("nodes"):
                for entity in graph.entities():
                    node = etree.Element("node", id=entity.id, label=xml_text(entity.name))
                    xml.write(_with_values(node, entity.attributes))
            with xml.element("edges"):
                for fact in graph.facts():
                    edge = etree.Element("edge", _ends(fact), weight=str(fact.weight))
                    rest = {k: v for k, v in fact.attributes.items() if k != "weight"}
                    xml.write(_with_values(edge, rest))


def _ends(fact: FactRecord) -> dict[str, str]:
    return {"id": fact.id, "source": fact.source, "target": fact.target}


def _with_values(element: etree._Element, attributes: Mapping[str, Value]) -> etree._Element:
    values = etree.SubElement(element, "attvalues")
    for name, value in attributes.items():
        etree.SubElement(values, "attvalue", {"for": name, "value": xml_text(value)})
    return element


def write_node_link(file: BinaryIO, graph: GraphSource) -> None:
    """Write what ``networkx.node_link_graph(…, edges="edges")`` reads."""
    head = {"directed": True, "multigraph": False, "graph": {"name": graph.name}}
    file.write(_json(head)[:-1] + b', "nodes": [')
    _join(file, ({"id": one.id} | one.attributes for one in graph.entities()))
    file.write(b'], "edges": [')
    _join(file, (_ends(one) | one.attributes for one in graph.facts()))
    file.write(b"]}\n")


def _join(file: BinaryIO, values: Iterable[Mapping[str, Any]]) -> None:
    for number, value in enumerate(values):
        file.write((b",\n" if number else b"\n") + _json(value))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


# --- tables ---------------------------------------------------------------------------------------
def write_tables(file: BinaryIO, graph: GraphSource) -> None:
    """Write a ZIP archive of both tables."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, write in ((ENTITIES_FILE, write_entities), (FACTS_FILE, write_facts)):
            with archive.open(name, "w", force_zip64=True) as member:
                write(member, graph)  # type: ignore[arg-type]  # the stub calls it IO[bytes]


def write_entities(file: BinaryIO, graph: GraphSource) -> None:
    rows = ({"id": one.id} | one.attributes for one in graph.entities())
    _write_csv(file, ENTITY_COLUMNS, rows)


def write_facts(file: BinaryIO, graph: GraphSource) -> None:
    _write_csv(file, FACT_COLUMNS, map(_fact_cells, graph.facts()))


def _fact_cells(fact: FactRecord) -> dict[str, Value]:
    names = ("source_name", "source_type", "target_name", "target_type")
    return _ends(fact) | {name: getattr(fact, name) for name in names} | fact.attributes


def _write_csv(
    file: BinaryIO, columns: tuple[str, ...], rows: Iterable[Mapping[str, Value]]
) -> None:
    # With the mark by which spreadsheets recognise UTF-8.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(_cells(columns, rows))
    text.flush()
    text.detach()


def _cells(columns: tuple[str, ...], rows: Iterable[Mapping[str, Value]]) -> Iterator[list[str]]:
    for row in rows:
        yield [safe_cell(as_text(row.get(column, ""))) for column in columns]


# --- the export -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: ``label`` and ``hint`` are for the page, ``ending`` for its name."""

    label: str
    hint: str
    ending: str
    content_type: str
    write: Callable[[BinaryIO, GraphSource], None]
    what: str = "graph"


FORMATS: Final[Mapping[str, Format]] = {
    "graphml": Format(
        "GraphML",
        "For networkx, yEd and most graph tools.",
        "graphml",
        "application/graphml+xml",
        write_graphml,
    ),
    "gexf": Format("GEXF", "For Gephi.", "gexf", "application/gexf+xml", write_gexf),
    "json": Format(
        "JSON",
        "Node-link JSON, for programs and D3.",
        "json",
        "application/json",
        write_node_link,
    ),
    "csv": Format(
        "CSV",
        "A ZIP archive with one table of entities and one of facts, for spreadsheets.",
        "zip",
        "application/zip",
        write_tables,
    ),
    "entities.csv": Format(
        "CSV of entities", "", "csv", "text/csv; charset=utf-8", write_entities, "entities"
    ),
    "facts.csv": Format("CSV of facts", "", "csv", "text/csv; charset=utf-8", write_facts, "facts"),
}


def format_for(name: str) -> str:
    """Return the format that a file's name ends with. Raises InputError if it says none or several.

    >>> format_for("graph.zip"), format_for("Graph.GEXF"), format_for("my-facts.csv")
    ('csv', 'gexf', 'facts.csv')
    """
    folded = name.lower()
    whole = [one for one in FORMATS if "." in one and folded.endswith(one)]
    found = whole or [n for n, one in FORMATS.items() if folded.endswith(f".{one.ending}")]
    if len(found) != 1:
        endings = [one if "." in one else f".{each.ending}" for one, each in FORMATS.items()]
        raise InputError(
            f"The name '{name}' does not say which format to write.",
            code="unknown_format",
            kept="Nothing was exported.",
            next_step=f"Let it end with {', '.join(endings[:-1])} or {endings[-1]}, or choose a"
            f" format: {', '.join(FORMATS)}.",
        )
    return found[0]


def graph_write(*, workspace: Workspace, format: str, scope: Scope, file: BinaryIO) -> None:
    """Write the graph to a file. Raises InputError for an unknown format, NotFoundError."""
    chosen = FORMATS.get(format)
    if chosen is None:
        raise InputError(
            f"There is no export format '{format}'.",
            code="unknown_format",
            kept="Nothing was exported.",
            next_step=f"Choose one of {', '.join(FORMATS)}.",
        )
    with access.in_workspace(workspace.pk):
        source = GraphSource(
            workspace.name,
            partial(records.entity_records, workspace, scope),
            partial(records.fact_records, workspace, scope),
        )
        chosen.write(file, source)


def graph_export(
    *, workspace: Workspace, user: User | None, format: str, scope: Scope
) -> StreamingHttpResponse:
    """Return the graph as a download, and record that.

    Raises ForbiddenError if the settings keep exports from the user, InputError, NotFoundError.
    """
    access.check_right(workspace, EXPORT)
    with tempfile.TemporaryFile() as file:
        graph_write(workspace=workspace, format=format, scope=scope, file=file)
        record_export(workspace=workspace, user=user, format=format, scope=scope)
        return download(
            file,
            name=file_name(workspace, format),
            content_type=FORMATS[format].content_type,
        )


def record_export(*, workspace: Workspace, user: User | None, format: str, scope: Scope) -> None:
    """Record an export in the audit of the workspace, for one from an edition too."""
    source = Workspace.objects.get(pk=editions.source_id(workspace.pk))
    audit.record(
        AuditAction.GRAPH_EXPORTED,
        workspace=source,
        user=user,
        target=Target("graph", name=f"the {FORMATS[format].what} as {FORMATS[format].label}"),
        after={"format": format, **scope.in_words},
    )


def file_name(workspace: Workspace, format: str) -> str:
    """
    >>> file_name(Workspace(slug="harbour"), "csv")[:14]
    'harbour-graph-'
    """
    chosen = FORMATS[format]
    slug = re.sub(r"[^A-Za-z0-9_-]", "", workspace.slug)
    return f"{slug}-{chosen.what}-{timezone.localdate():%Y-%m-%d}.{chosen.ending}"
