"""Read files of a graph to import: GraphML, node-link JSON, and tables of entities and facts.

Only what an import uses is read: names, types, aliases, descriptions, and how entities are related.
Columns and attributes may have any of several names (``_FIELDS``). A row that lacks a name or an
end is kept as it is, because the preview says what is wrong with it.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from lxml import etree

from ingestion.parsers.archive import ZIP_ERRORS, check_archive
from ingestion.parsers.document import MIB, Limits, Source, clean, one_line
from ingestion.parsers.open_file import OpenFile
from kb_project.errors import ParseError

GRAPHML, NODE_LINK, CSV = "graphml", "json", "csv"
MOST_ROWS: Final = 100_000
MOST_BYTES: Final = 64 * MIB
LIMITS: Final = Limits(
    seconds=60, max_bytes=MOST_BYTES, max_archive_bytes=4 * MOST_BYTES, max_archive_entries=50
)
KEPT: Final = "Nothing was imported."
_LONGEST_TEXT: Final = 20_000
_LONGEST_NAME: Final = 2_000
_MOST_LISTED: Final = 500
# In order of preference; compared without case, blanks, hyphens and underscores.
_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "id": ("id", "entity id", "node id"),
    "name": ("name", "label", "title", "entity"),
    "type": ("type", "entity type", "kind", "category", "class"),
    "aliases": ("aliases", "alias", "also known as"),
    "description": ("description", "summary", "comment", "note"),
    "source": ("source", "source id", "from", "subject"),
    "target": ("target", "target id", "to", "object"),
    "source_name": ("source name",),
    "source_type": ("source type",),
    "target_name": ("target name",),
    "target_type": ("target type",),
    "predicates": ("predicates", "predicate", "relation", "relationship", "label", "keywords"),
}
_ENTITY_FIELDS: Final = ("id", "name", "type", "aliases", "description")
_FACT_FIELDS: Final = (
    *("source", "target", "source_name", "source_type", "target_name", "target_type"),
    *("predicates", "description"),
)
_DELIMITERS: Final = ",;\t"
_ZIP: Final = b"PK\x03\x04"
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity of the file; ``row`` counts from 1 within its table."""

    row: int
    id: str
    name: str
    type: str
    aliases: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact of the file. Its ends are ids or names of entities; the rest may be empty."""

    row: int
    source: str
    target: str
    source_name: str
    source_type: str
    target_name: str
    target_type: str
    predicates: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class GraphFile:
    """What was read of a file."""

    format: str
    entities: tuple[EntityRow, ...]
    facts: tuple[FactRow, ...]


def read_graph(file: OpenFile, name: str, limits: Limits = LIMITS) -> GraphFile:
    """Read a file of a graph. Raises ParseError."""
    if file.size > limits.max_bytes:
        raise _refuse(
            "too_large",
            f"{_named(name)} is larger than {limits.max_bytes // MIB} MB.",
            "Split it into smaller files and import those.",
        )
    with file.open() as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")
    if not start:
        raise _refuse("empty_file", f"{_named(name)} is empty.", "Choose another file.")
    if start.startswith(_ZIP):
        return _archive(file, name, limits)
    if start.startswith(b"<"):
        return _graphml(file, name)
    if start.startswith((b"{", b"[")):
        return _node_link(file.read_bytes(), name)
    return _of_tables([_table(file.read_bytes(), name)], name)


def _refuse(code: str, happened: str, next_step: str) -> ParseError:
    return ParseError(happened, code=code, kept=KEPT, next_step=next_step)


def _named(name: str) -> str:
    return f"“{one_line(name, limit=80) or 'This file'}”"


# --- values ---------------------------------------------------------------------------------------
Fields = Mapping[str, Any]


def _entity(row: int, given: Fields, default_id: str = "") -> EntityRow:
    found = {name: _pick(given, name) for name in _ENTITY_FIELDS}
    id_ = _line(found["id"]) or default_id
    return EntityRow(
        row,
        id_ or _line(found["name"]),
        _line(found["name"]) or default_id,
        _line(found["type"]),
        _several(found["aliases"]),
        _text(found["description"]),
    )


def _fact(row: int, given: Fields, **ends: str) -> FactRow:
    found = {name: _pick(given, name) for name in _FACT_FIELDS}
    lines = {name: _line(found[name]) for name in _FACT_FIELDS[:6]}
    return FactRow(
        row=row,
        **(lines | {name: _line(value) for name, value in ends.items()}),
        predicates=_several(found["predicates"]),
        description=_text(found["description"]),
    )


def _pick(given: Fields, field: str) -> Any:
    for name in _FIELDS[field]:
        if (value := given.get(_folded(name))) not in (None, ""):
            return value
    return ""


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


def _by_name(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    return {_folded(str(name)): value for name, value in pairs}


def _line(value: Any) -> str:
    """A name on one line. Longer ones stay too long for an import, which says so."""
    return one_line(_scalar(value), limit=_LONGEST_NAME)


def _text(value: Any) -> str:
    return clean(_scalar(value))[0].strip()[:_LONGEST_TEXT]


def _scalar(value: Any) -> str:
    return str(value) if isinstance(value, (str, int, float)) else ""


def _several(value: Any) -> tuple[str, ...]:
    """A list, or one name a line."""
    if isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    found = value if isinstance(value, list) else _text(value).splitlines()
    lines = (_line(one) for one in found[:_MOST_LISTED])
    return tuple(dict.fromkeys(line for line in lines if line))


def _bounded(
    entities: Iterable[EntityRow], facts: Iterable[FactRow], format: str, name: str
) -> GraphFile:
    read: tuple[list[EntityRow], list[FactRow]] = ([], [])
    for row in chain(entities, facts):
        (read[0] if isinstance(row, EntityRow) else read[1]).append(row)  # type: ignore[arg-type]  # by kind
        if len(read[0]) + len(read[1]) > MOST_ROWS:
            raise _too_many(name)
    if not read[0] and not read[1]:
        raise _refuse(
            "no_rows", f"{_named(name)} contains no entity and no fact.", "Choose another file."
        )
    return GraphFile(format, tuple(read[0]), tuple(read[1]))


def _too_many(name: str) -> ParseError:
    return _refuse(
        "too_many_rows",
        f"{_named(name)} has more than {MOST_ROWS:,} entities and facts.",
        "Split it into smaller files and import those.",
    )


# --- GraphML --------------------------------------------------------------------------------------
def _graphml(file: OpenFile, name: str) -> GraphFile:
    entities: list[EntityRow] = []
    facts: list[FactRow] = []
    try:
        with file.open() as stream:
            for row in _graphml_rows(stream, name):
                (entities if isinstance(row, EntityRow) else facts).append(row)  # type: ignore[arg-type]  # by kind
                if len(entities) + len(facts) > MOST_ROWS:
                    raise _too_many(name)
    except etree.XMLSyntaxError as error:
        where = f" at line {error.lineno}" if error.lineno else ""
        raise _refuse(
            "malformed",
            f"{_named(name)} is not well-formed XML{where}.",
            "Export it again from the program that made it.",
        ) from error
    return _bounded(entities, facts, GRAPHML, name)


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
        raise _refuse(
            "unsafe_xml",
            f"{_named(name)} declares a document type, which could define entities.",
            "Remove the DOCTYPE at its start, or export it again without one.",
        )
    if tag != "graphml":
        raise _refuse(
            "not_graphml",
            f"{_named(name)} is XML, but not GraphML: it begins with “{one_line(tag, limit=40)}”.",
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
    given = _by_name(data)
    if tag == "node":
        given.pop("id", None)
        return _entity(row, given, _line(element.get("id", "")))
    ends = {end: element.get(end, "") for end in ("source", "target")}
    return _fact(row, given, **ends)


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
        raise _refuse(
            "malformed",
            f"{_named(name)} is not valid JSON{where}.",
            "Export it again from the program that made it.",
        ) from error
    nodes, edges = _lists_of(loaded, name)
    entities = (
        _entity(
            row, _by_name(node.items()) if isinstance(node, dict) else {"id": node, "name": node}
        )
        for row, node in enumerate(nodes, 1)
    )
    facts = (
        _fact(row, _by_name(edge.items()))
        for row, edge in enumerate(edges, 1)
        if isinstance(edge, dict)
    )
    return _bounded(entities, facts, NODE_LINK, name)


def _lists_of(loaded: Any, name: str) -> tuple[list[Any], list[Any]]:
    given = loaded if isinstance(loaded, dict) else {}
    nodes = given.get("nodes") or given.get("entities") or []
    edges = given.get("edges") or given.get("links") or given.get("facts") or []
    if not isinstance(nodes, list) or not isinstance(edges, list) or not (nodes or edges):
        raise _refuse(
            "not_node_link",
            f"{_named(name)} is JSON without a list of “nodes” or “edges”.",
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
        raise _refuse(
            "corrupt", f"{_named(name)} is a damaged ZIP archive.", "Download it again."
        ) from error
    if not tables:
        raise _refuse(
            "no_tables",
            f"{_named(name)} is a ZIP archive without a CSV file.",
            "Put entities.csv and facts.csv into it.",
        )
    return _of_tables(tables, name)


def _of_tables(tables: Iterable[Table], name: str) -> GraphFile:
    entities: list[EntityRow] = []
    facts: list[FactRow] = []
    for columns, rows in tables:
        cells = ({c: _plain(v) for c, v in zip(columns, row, strict=False)} for row in rows)
        if _has(columns, "source") and _has(columns, "target"):
            facts += [_fact(number, given) for number, given in enumerate(cells, 2)]
        elif _has(columns, "name"):
            entities += [_entity(number, given) for number, given in enumerate(cells, 2)]
        else:
            raise _refuse(
                "no_columns",
                f"{_named(name)} has neither a column “name” nor the columns “source” and"
                " “target”.",
                "Name its columns in the first row.",
            )
    return _bounded(entities, facts, CSV, name)


def _has(columns: Sequence[str], field: str) -> bool:
    return any(_folded(one) in columns for one in _FIELDS[field])


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
        columns = [_folded(cell) for cell in next(rows, [])]
        found = []
        for row in rows:
            if any(row):
                found.append(row)
            if len(found) > MOST_ROWS:
                raise _too_many(name)
    except csv.Error as error:
        raise _refuse(
            "malformed",
            f"{_named(name)} is not a CSV table: line {rows.line_num} cannot be read.",
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
        raise _refuse(
            "not_a_graph",
            f"{_named(name)} is not GraphML, JSON or CSV.",
            "Choose a file that was exported as one of these.",
        )
    return text


def _not_utf8(name: str) -> ParseError:
    return _refuse(
        "wrong_encoding",
        f"{_named(name)} is not in UTF-8, so its names cannot be read for certain.",
        "Save it as UTF-8 (in Excel: CSV UTF-8), then choose it again.",
    )
