"""One warm sandbox for the tests that read through it, and a way to put bytes into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ingestion.parsers import Limits, OpenFile, ParsedDocument, parse, pdf
from ingestion.parsers.sandbox import ParserSandbox
from kb_project.errors import ParseError
from kb_project.text.regions import RegionKind

Write = Callable[..., Path]
Read = Callable[..., ParsedDocument]
Refuse = Callable[..., ParseError]
NO_FILE = OpenFile(-1)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[ParserSandbox]:
    with ParserSandbox() as sandbox:
        yield sandbox


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Bytes to a file. Its name on disk says nothing, as in the product's own store."""

    def to_disk(data: bytes) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.blob"
        path.write_bytes(data)
        return path

    return to_disk


@pytest.fixture
def read(write: Write) -> Read:
    """Read bytes in this process; text offsets are checked on the way."""

    def in_process(data: bytes, name: str, limits: Limits | None = None) -> ParsedDocument:
        document = parse(write(data), name=name, limits=limits or Limits())
        require_sound(document)
        return document

    return in_process


@pytest.fixture
def refuse(write: Write, sandbox: ParserSandbox) -> Refuse:
    """Read bytes in the sandbox and return why they were refused."""

    def in_sandbox(data: bytes, name: str, limits: Limits | None = None) -> ParseError:
        with pytest.raises(ParseError) as caught:
            sandbox.parse(write(data), name=name, limits=limits)
        error = caught.value
        assert error.happened.endswith(".")
        assert "stored" in error.kept
        assert error.next_step.endswith(".")
        return error

    return in_sandbox


def page_boxes(path: Path, *arguments: int) -> list[pdf.Box]:
    with OpenFile.at(path) as file:
        return pdf.page_boxes(file, "r.pdf", *arguments)


def render_page(path: Path, *arguments: int) -> bytes:
    with OpenFile.at(path) as file:
        return pdf.render_page(file, "r.pdf", *arguments)


def require_sound(document: ParsedDocument) -> None:
    """What every consumer of a parsed document relies on."""
    text = document.text
    assert text.strip()
    assert document.title.strip()
    assert "\x00" not in text
    assert "\r" not in text
    text.encode("utf-8")
    end = 0
    for number, page in enumerate(document.pages, start=1):
        assert page.number == number
        assert end <= page.start <= page.end <= len(text)
        end = page.end
    for heading in document.headings:
        assert 1 <= heading.level <= 6
        assert 0 <= heading.start < len(text)
        assert heading.start == 0 or text[heading.start - 1] in "\n "
    end = 0
    for region in document.regions:
        assert end <= region.start < region.end <= len(text)
        end = region.end


def of_kind(document: ParsedDocument, kind: RegionKind) -> list[str]:
    """What a document has of one kind of region, in order."""
    return [document.text[one.start : one.end] for one in document.regions if one.kind == kind]


def headed(document: ParsedDocument) -> list[str]:
    """Titles of the headings whose line begins with exactly that title."""
    return [
        heading.title
        for heading in document.headings
        if document.text[heading.start :].startswith(heading.title)
    ]
