"""JSON and JSON Lines as ``path: value`` lines; each record of a list is its own block.

Numbers keep the digits of the file, and repeated keys are all kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from ingestion.parsers import plain
from ingestion.parsers.builder import TextBuilder, title_from_name
from ingestion.parsers.document import ParsedDocument, Source, clean, one_line
from ingestion.parsers.encoding import decode
from ingestion.parsers.formats import JSON_LINES
from ingestion.parsers.tables import write_row

_NAMING_KEYS: Final = ("title", "name", "heading", "headline")
_LONGEST_NAME: Final = 200
_NO_LIMIT: Final = 2**31
_NAMELESS: Final = "value"

# Plain JSON values; objects are _Pairs, so that repeated keys are kept.
_Json: TypeAlias = Any


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of pairs."""


def read(source: Source) -> ParsedDocument:
    decoded = decode(source.file.read_bytes())
    builder = TextBuilder(source)
    builder.warn(decoded.warning)
    try:
        if source.media_type == JSON_LINES:
            _write_lines(builder, decoded.text)
        else:
            _write_document(builder, _load(decoded.text))
    except (ValueError, RecursionError) as error:
        is_deep = isinstance(error, RecursionError)
        reason = "is nested too deeply" if is_deep else "is not valid JSON"
        warning = f"The file {reason}; it was read as plain text."
        return plain.read_text(source, decoded, warning)
    title = title_from_name(source.name)
    return builder.build(parser="json", title=title, encoding=decoded.encoding)


def _load(text: str) -> _Json:
    return json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)


def _write_lines(builder: TextBuilder, text: str) -> None:
    """Keep a broken line as it is: one bad record must not cost the others."""
    broken: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = _load(line)
        except ValueError:
            broken.append(number)
            builder.paragraph(line)
        else:
            _write_record(builder, record)
    if len(broken) == 1:
        builder.warn(f"Line {broken[0]:,} is not valid JSON and was kept as it is.")
    elif broken:
        count = f"{len(broken):,} lines are not valid JSON and were kept as they are"
        builder.warn(f"{count}, first line {broken[0]:,}.")


def _write_document(builder: TextBuilder, value: _Json) -> None:
    if isinstance(value, _Pairs):
        _write_object(builder, value)
    elif _is_record_list(value):
        for record in value:
            _write_record(builder, record)
    else:
        _write_leaves(builder, "", value)


def _write_object(builder: TextBuilder, pairs: _Pairs) -> None:
    """Turn the lists of records that an export wraps in one object into sections."""
    for key, value in pairs:
        if _is_record_list(value):
            builder.heading(1, key)
            for record in value:
                _write_record(builder, record, level=2)
        else:
            _write_leaves(builder, key, value)


def _is_record_list(value: _Json) -> bool:
    return (
        isinstance(value, list)
        and not isinstance(value, _Pairs)
        and any(isinstance(element, _Pairs) for element in value)
    )


def _write_record(builder: TextBuilder, record: _Json, *, level: int = 1) -> None:
    builder.part()
    if not isinstance(record, _Pairs):
        _write_leaves(builder, "", record)
        return
    naming = _naming_key(record)
    for key, value in record:
        if key == naming:
            builder.heading(level, value)
    for key, value in record:
        if key != naming:
            _write_leaves(builder, key, value)


def _naming_key(record: _Pairs) -> str:
    """The field that names the record, if it is short and occurs only once."""
    values = dict(record)
    for key in _NAMING_KEYS:
        value = values.get(key)
        if isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_NAME:
            return key if len(values) > 1 and len(values) == len(record) else ""
    return ""


def _write_leaves(builder: TextBuilder, path: str, value: _Json) -> None:
    for leaf, shown in _leaves(path, value):
        text = clean(shown)[0].strip()
        if text:
            write_row(builder, f"{leaf}: {text}" if leaf else text, longest=len(text))


def _leaves(path: str, root: _Json) -> Iterator[tuple[str, str]]:
    """(path, value) in the file's order, with an explicit stack: the file decides the depth.

    >>> list(_leaves("stops", [_Pairs([("day", "1"), ("port", "Voar")])]))
    [('stops[1]', 'day: 1; port: Voar')]
    """
    waiting: list[tuple[str, _Json]] = [(path, root)]
    while waiting:
        path, value = waiting.pop()
        if (
            isinstance(value, _Pairs)
            and path.endswith("]")
            and not any(isinstance(below, list) for _, below in value)
        ):
            yield path, "; ".join(f"{key}: {shown}" for key, shown in _filled(value))
        elif isinstance(value, _Pairs):
            prefix = f"{path}." if path else ""
            named = ((one_line(key) or _NAMELESS, below) for key, below in reversed(value))
            waiting.extend((prefix + key, below) for key, below in named)
        elif isinstance(value, list) and any(isinstance(element, list) for element in value):
            numbered = list(enumerate(value, start=1))
            waiting.extend((f"{path}[{number}]", below) for number, below in reversed(numbered))
        elif isinstance(value, list):
            yield path, ", ".join(filter(None, map(_scalar, value)))
        else:
            yield path, _scalar(value)


def _filled(pairs: _Pairs) -> Iterator[tuple[str, str]]:
    for key, value in pairs:
        if shown := one_line(_scalar(value), limit=_NO_LIMIT):
            yield one_line(key), shown


def _scalar(value: _Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
