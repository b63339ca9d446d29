"""Read files of a graph to import: GraphML, node-link JSON, and tables of entities and facts.

Only what an import uses is read: names, types, aliases, descriptions, and how entities are related
(``graph_rows``).
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from lxml import etree

from ingestion.parsers.archive import ZIP_ERRORS, check_archive
from ingestion.parsers.document import MIB, Limits, OpenFile, Source, one_line
from ingestion.parsers.graph_rows import (
    CSV,
    FIELDS,
    GRAPHML,
    LIMITS,
    MOST_ROWS,
    NODE_LINK,
    EntityRow,
    FactRow,
    GraphFile,
    bounded,
    by_name,
    entity_row,
    fact_row,
    folded,
    line_of,
    refuse,
    too_many,
)
from ingestion.parsers.refusals import quoted
from kb_project.errors import ParseError

_DELIMITERS: Final = ",;\t"
_ZIP: Final = b"PK\x03\x04"
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


def read_graph(file: OpenFile, name: str, limits: Limits = LIMITS) -> GraphFile:
    """Read a file of a graph. Raises ParseError."""
    if file.size > limits.max_bytes:
        raise refuse(
            "too_large",
            f"{quoted(name)} is larger than {limits.max_bytes // MIB} MB.",
            "Split it into smaller files and import those.",
        )
    with file.open() as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")
    if not start:
        raise refuse("empty_file", f"{quoted(name)} is empty.", "Choose another file.")
    if start.startswith(_ZIP):
        return _archive(file, name, limits)
    if start.startswith(b"<"):
        return _graphml(file, name)
    if start.startswith((b"{", b"[")):
        return _node_link(file.read_bytes(), name)
    return _of_tables([_table(file.read_bytes(), name)], name)


# --- GraphML --------------------------------------------------------------------------------------
def _graphml(file: OpenFile, name: str) -> GraphFile:
    try:
        with file.open() as stream:
            return bounded(_graphml_rows(stream, name), GRAPHML, name)
    except etree.XMLSyntaxError as error:
        where = f" at line {error.lineno}" if error.lineno else ""
        raise refuse(
            "malformed",
            f"{quoted(name)} is not well-formed XML{where}.",
            "Export it again from the program that made it.",
        ) from error


def _graphml_rows(stream: Any, name: str) -> Iterator[EntityRow | FactRow]:
    keys: dict[str, str] = {}
    counts = {"node": 0, "edge": 0}
    events = etree.iterparse(
        stream,
        events=("start", "end"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    for event, element in events:
        tag = etree.QName(element).localname
        if event == "start":
            if element.getparent() is None:
                _check_root(element, tag, name)
            continue
        if tag == "key":
            keys[element.get("id", "")] = element.get("attr.name") or element.get("id", "")
        elif tag in counts:
            counts[tag] += 1
            yield _graphml_row(element, tag, counts[tag], keys)
            _forget(element)


def _check_root(element: etree._Element, tag: str, name: str) -> None:
    if element.getroottree().docinfo.doctype:
        raise refuse(
            "unsafe_xml",
            f"{quoted(name)} declares a document type, which could define entities.",
            "Remove the DOCTYPE at its start, or export it again without one.",
        )
    if tag != "graphml":
        raise refuse(
            "not_graphml",
            f"{quoted(name)} is XML, but not GraphML: it begins with “{one_line(tag, limit=40)}”.",
            "Save it as GraphML, JSON or CSV.",
        )


def _graphml_row(
    element: etree._Element, tag: str, row: int, keys: Mapping[str, str]
) -> EntityRow | FactRow:
    data = (
        (keys.get(one.get("key", ""), one.get("key", "")), "".join(one.itertext()))
        for one in element
        if isinstance(one.tag, str) and etree.QName(one).localname == "data"
    )
    given = by_name(data)
    if tag == "node":
        given.pop("id", None)
        return entity_row(row, given, line_of(element.get("id", "")))
    ends = {end: element.get(end, "") for end in ("source", "target")}
    return fact_row(row, given, **ends)


def _forget(element: etree._Element) -> None:
    """Free what was read."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


# --- node-link JSON -------------------------------------------------------------------------------
def _node_link(data: bytes, name: str) -> GraphFile:
    try:
        loaded = json.loads(data)
    except UnicodeDecodeError as error:
        raise _not_utf8(name) from error
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        where = f" at line {line}" if line else ""
        raise refuse(
            "malformed",
            f"{quoted(name)} is not valid JSON{where}.",
            "Export it again from the program that made it.",
        ) from error
    nodes, edges = _lists_of(loaded, name)
    entities = (
        entity_row(
            row, by_name(node.items()) if isinstance(node, dict) else {"id": node, "name": node}
        )
        for row, node in enumerate(nodes, 1)
    )
    facts = (
        fact_row(row, by_name(edge.items()))
        for row, edge in enumerate(edges, 1)
        if isinstance(edge, dict)
    )
    return bounded(chain(entities, facts), NODE_LINK, name)


def _lists_of(loaded: Any, name: str) -> tuple[list[Any], list[Any]]:
    given = loaded if isinstance(loaded, dict) else {}
    nodes = given.get("nodes") or given.get("entities") or []
    edges = given.get("edges") or given.get("links") or given.get("facts") or []
    if not isinstance(nodes, list) or not isinstance(edges, list) or not (nodes or edges):
        raise refuse(
            "not_node_link",
            f"{quoted(name)} is JSON without a list of “nodes” or “edges”.",
            "Save it as node-link JSON, GraphML or CSV.",
        )
    return nodes, edges


# --- tables ---------------------------------------------------------------------------------------
Table = tuple[list[str], list[list[str]]]
"""The folded names of the columns, and the rows."""


def _archive(file: OpenFile, name: str, limits: Limits) -> GraphFile:
    check_archive(Source(file, name, "application/zip", limits), kind="ZIP archive", code="corrupt")
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            tables = [
                _table(archive.read(entry), entry.filename)
                for entry in archive.infolist()
                if entry.filename.lower().endswith(".csv")
            ]
    except ZIP_ERRORS as error:
        raise refuse(
            "corrupt", f"{quoted(name)} is a damaged ZIP archive.", "Download it again."
        ) from error
    if not tables:
        raise refuse(
            "no_tables",
            f"{quoted(name)} is a ZIP archive without a CSV file.",
            "Put entities.csv and facts.csv into it.",
        )
    return _of_tables(tables, name)


def _of_tables(tables: Iterable[Table], name: str) -> GraphFile:
    entities: list[EntityRow] = []
    facts: list[FactRow] = []
    for columns, rows in tables:
        cells = ({c: _plain(v) for c, v in zip(columns, row, strict=False)} for row in rows)
        if _has(columns, "source") and _has(columns, "target"):
            facts += [fact_row(number, given) for number, given in enumerate(cells, 2)]
        elif _has(columns, "name"):
            entities += [entity_row(number, given) for number, given in enumerate(cells, 2)]
        else:
            raise refuse(
                "no_columns",
                f"{quoted(name)} has neither a column “name” nor the columns “source” and"
                " “target”.",
                "Name its columns in the first row.",
            )
    return bounded(chain(entities, facts), CSV, name)


def _has(columns: Sequence[str], field: str) -> bool:
    return any(folded(one) in columns for one in FIELDS[field])


def _plain(cell: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from running it."""
    guarded = cell.startswith("'") and cell.lstrip("'").startswith(_FORMULAS)
    return cell[1:] if guarded else cell


def _table(data: bytes, name: str) -> Table:
    text = _decoded(data, name)
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [folded(cell) for cell in next(rows, [])]
        found = []
        for row in rows:
            if any(row):
                found.append(row)
            if len(found) > MOST_ROWS:
                raise too_many(name)
    except csv.Error as error:
        raise refuse(
            "malformed",
            f"{quoted(name)} is not a CSV table: line {rows.line_num} cannot be read.",
            "Export it again as CSV.",
        ) from error
    return columns, found


def _decoded(data: bytes, name: str) -> str:
    decoders: Sequence[tuple[bytes, str]] = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
    encoding = next((code for mark, code in decoders if data.startswith(mark)), "utf-8-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _not_utf8(name) from error
    if "\0" in text:
        raise refuse(
            "not_a_graph",
            f"{quoted(name)} is not GraphML, JSON or CSV.",
            "Choose a file that was exported as one of these.",
        )
    return text


def _not_utf8(name: str) -> ParseError:
    return refuse(
        "wrong_encoding",
        f"{quoted(name)} is not in UTF-8, so its names cannot be read for certain.",
        "Save it as UTF-8 (in Excel: CSV UTF-8), then choose it again.",
    )
