"""Parsing of requests to the document pages: filters, places in a document, metadata."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Final
from uuid import UUID

from django.http import QueryDict
from pydantic import Field, TypeAdapter, ValidationError

from ingestion.documents.estimates import FileSize
from ingestion.history.recording import ChangeContext
from ingestion.models import DocumentState
from kb_project.errors import InputError
from workspaces.models import Workspace
from workspaces.pages import UserRequest, id_in

TEXT = "text"
PAGE = "page"
# Larger offsets and page numbers are typos; Postgres and Python both hold this one.
LARGEST = 2**31 - 1
_NAME = Annotated[str, Field(max_length=1000)]
_SIZE = Annotated[int, Field(ge=0, le=2**40)]
_CHOSEN: Final = TypeAdapter(Annotated[list[tuple[_NAME, _SIZE]], Field(max_length=10_000)])


@dataclass(frozen=True, slots=True)
class ReaderPosition:
    """Where to open a document: around a span, from an offset, or at a page's picture."""

    span: tuple[int, int] | None = None
    begin: int = 0
    view: str = TEXT
    page: int | None = None


def place_of(query: QueryDict) -> ReaderPosition:
    """Return the place in a reader URL; invalid parts are ignored."""
    start, end = number(query, "start"), number(query, "end")
    return ReaderPosition(
        span=None if start is None or end is None else (start, end),
        begin=number(query, "from") or 0,
        view=PAGE if query.get("view") == PAGE else TEXT,
        page=number(query, "page"),
    )


def state_of(query: QueryDict) -> str:
    """Return the state to filter the list by, '' for all."""
    given = query.get("state", "")
    return given if given in DocumentState.values else ""


def number(query: QueryDict, name: str) -> int | None:
    """
    >>> number(QueryDict("start=12"), "start")
    12
    """
    given = query.get(name, "")
    if not (given.isascii() and given.isdigit()) or len(given) > 10:
        return None
    return min(int(given), LARGEST)


def files_of(given: QueryDict) -> list[FileSize]:
    """Return names and sizes of the chosen files: ``files`` is ``[[name, bytes], …]`` as JSON.

    Raises InputError for anything else.

    >>> [(one.name, one.size) for one in files_of(QueryDict('files=[["a.txt",12]]'))]
    [('a.txt', 12)]
    """
    try:
        chosen = _CHOSEN.validate_json(given.get("files", ""))
    except ValidationError:
        raise InputError("The request lacks the names and sizes of the files.") from None
    return [FileSize(name, size) for name, size in chosen]


def words_of(query: QueryDict, name: str) -> str:
    """Return a search term: trimmed, shortened, and without NUL, which Postgres refuses."""
    return query.get(name, "").replace("\0", "").strip()[:200]


def ids_of(data: QueryDict, name: str) -> list[UUID]:
    """Return the ids chosen under a name; invalid ones are skipped."""
    found = map(id_in, data.getlist(name))
    return list(dict.fromkeys(one for one in found if one))


def change_of(request: UserRequest, workspace: Workspace) -> ChangeContext:
    """Return who makes a change on a page."""
    return ChangeContext(workspace, request.user, via="page")


def document_values(data: QueryDict) -> dict[str, Any]:
    """Return the metadata a user entered for a document. Raises InputError for an invalid date."""
    values: dict[str, Any] = {
        name: data[name] for name in ("title", "collection") if data.get(name) is not None
    }
    if "tags" in data:
        values["tags"] = str(data["tags"]).split(",")
    if "dated" in data:
        given = str(data["dated"]).strip()
        try:
            values["dated"] = date.fromisoformat(given) if given else None
        except ValueError as error:
            raise InputError(
                "Enter the date as 2026-11-21.", code="invalid_date", kept="Nothing was changed."
            ) from error
    return values
