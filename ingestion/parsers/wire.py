"""Messages between the sandbox and the product: JSON, checked on arrival.

The process on the other side has read a hostile file, so nothing it says is trusted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from ingestion.parsers.document import Heading, Limits, PageSpan, ParsedDocument, is_clean, one_line
from ingestion.parsers.graph_rows import EntityRow, FactRow, GraphFile
from kb_project.errors import ParseError
from kb_project.text.regions import Region, as_json, from_json

Operation = Literal["parse", "page_boxes", "render_page", "graph"]

# The first byte of every reply.
DOCUMENT: Final = b"D"
BOXES: Final = b"J"
PICTURE: Final = b"P"
GRAPH: Final = b"G"
REFUSAL: Final = b"E"
CRASH: Final = b"C"

MOST_FILES: Final = 64
"""Files of one request; the kernel passes at most 253 descriptors with a message."""

# Every reply begins with its length, since one child may send several.
HEADER_BYTES: Final = 8

_LONGEST_SENTENCE: Final = 500
_MOST_HEADINGS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """``arguments`` are the integers an operation takes besides the file.

    ``more`` are the names of further files to read after this one, each within the limits. The
    files themselves are sent along as open descriptors, in this order.
    """

    operation: Operation
    name: str
    limits: Limits
    arguments: tuple[int, ...] = ()
    more: tuple[str, ...] = ()

    def each(self) -> Iterator[Request]:
        """A separate request for every file."""
        yield replace(self, more=())
        for name in self.more:
            yield replace(self, name=name, more=())

    def first(self, files: int) -> Request:
        """The request for as many of its files, at least one."""
        return replace(self, more=self.more[: files - 1])

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode("utf-8", "surrogatepass")

    @classmethod
    def from_bytes(cls, data: bytes) -> Request:
        fields = json.loads(data.decode("utf-8", "surrogatepass"))
        fields["limits"] = Limits(**fields["limits"])
        fields["arguments"] = tuple(fields["arguments"])
        fields["more"] = tuple(fields["more"])
        return cls(**fields)


def framed(reply: bytes) -> bytes:
    return len(reply).to_bytes(HEADER_BYTES, "big") + reply


def document_to_bytes(document: ParsedDocument) -> bytes:
    fields = asdict(document)
    fields["pages"] = [[page.number, page.start, page.end] for page in document.pages]
    fields["headings"] = [[one.level, one.title, one.start] for one in document.headings]
    fields["regions"] = as_json(document.regions)
    return json.dumps(fields, ensure_ascii=False).encode()


def document_from_bytes(data: bytes) -> ParsedDocument:
    """Decode a document. Raises ValueError, TypeError or KeyError if it is not a proper one."""
    fields: dict[str, Any] = _loaded(data)
    text = _string(fields["text"])
    encoding = fields["encoding"]
    return ParsedDocument(
        text=text,
        title=one_line(_string(fields["title"])),
        media_type=_string(fields["media_type"]),
        pages=tuple(_page(entry, len(text)) for entry in fields["pages"]),
        headings=tuple(_heading(entry, len(text)) for entry in fields["headings"][:_MOST_HEADINGS]),
        regions=tuple(_regions(fields["regions"], len(text))),
        metadata={_string(key): _string(value) for key, value in fields["metadata"].items()},
        warnings=tuple(one_line(_string(warning), limit=1000) for warning in fields["warnings"]),
        parser=_string(fields["parser"]),
        encoding=None if encoding is None else _string(encoding),
    )


def refusal_to_bytes(error: ParseError) -> bytes:
    return json.dumps([error.happened, error.code, error.kept, error.next_step]).encode()


def refusal_from_bytes(data: bytes) -> ParseError:
    """Decode a refusal. Raises ValueError for anything else."""
    happened, code, kept, next_step = (
        one_line(str(part), limit=_LONGEST_SENTENCE) for part in _loaded(data)
    )
    return ParseError(happened, code=code, kept=kept, next_step=next_step)


def boxes_from_bytes(data: bytes) -> list[tuple[float, float, float, float]]:
    """Decode a list of boxes. Raises ValueError or TypeError for anything else."""
    boxes = []
    for left, top, right, bottom in _loaded(data):
        boxes.append((float(left), float(top), float(right), float(bottom)))
    return boxes


def graph_to_bytes(graph: GraphFile) -> bytes:
    return json.dumps(asdict(graph), ensure_ascii=False).encode()


def graph_from_bytes(data: bytes) -> GraphFile:
    """Decode a graph. Raises ValueError, TypeError or KeyError if it is not a proper one."""
    fields: dict[str, Any] = _loaded(data)
    return GraphFile(
        _string(fields["format"]),
        tuple(EntityRow(**_row(row)) for row in fields["entities"]),
        tuple(FactRow(**_row(row)) for row in fields["facts"]),
    )


def _row(fields: dict[str, Any]) -> dict[str, Any]:
    """A row whose texts are clean, with tuples for its lists."""
    number = _offset(fields.pop("row"), 2**31)
    return {"row": number} | {name: _cell(value) for name, value in fields.items()}


def _cell(value: object) -> str | tuple[str, ...]:
    return tuple(map(_string, value)) if isinstance(value, list) else _string(value)


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _string(value: object) -> str:
    if not isinstance(value, str) or not is_clean(value):
        raise ValueError("not clean text")
    return value


def _offset(value: object, length: int) -> int:
    if not isinstance(value, int) or not 0 <= value <= length:
        raise ValueError("not an offset into the text")
    return value


def _page(entry: list[object], length: int) -> PageSpan:
    number, start, end = entry
    span = PageSpan(_offset(number, 2**31), _offset(start, length), _offset(end, length))
    if span.end < span.start:
        raise ValueError("a page ends before it starts")
    return span


def _regions(entries: list[list[object]], length: int) -> Iterator[Region]:
    done = 0
    for region in from_json(entries):
        if not done <= region.start < region.end <= length:
            raise ValueError("not a region of the text")
        done = region.end
        yield region


def _heading(entry: list[object], length: int) -> Heading:
    level, title, start = entry
    return Heading(_offset(level, 100), _string(title), _offset(start, length))
