"""Parsing of curators' forms: ids, the revisions seen, where to return to."""

from __future__ import annotations

import uuid
from typing import Final

from django.http import HttpRequest, QueryDict
from django.utils.http import url_has_allowed_host_and_scheme

from ingestion.curation.splitting import Selection
from ingestion.documents import forms
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity
from kb_project.errors import InputError, NotFoundError
from workspaces.models import User, Workspace
from workspaces.pages import id_in

MOST_IDS: Final = 2000
"""More than a page ever offers; longer lists in a form are refused."""
LONGEST: Final = 20_000
"""Characters of one field; the services have smaller limits with better messages."""


def change_of(workspace: Workspace, user: User, given: QueryDict) -> ChangeContext:
    """Return who makes the change, why, and the revisions they saw."""
    return ChangeContext(
        workspace,
        user,
        reason=given.get("reason", ""),
        via="page",
        expected=expected_of(given),
    )


def expected_of(given: QueryDict) -> dict[uuid.UUID, int]:
    """Return revisions by id: ``seen`` is ``id:revision``, one for each item shown.

    >>> expected_of(QueryDict("seen=00000000-0000-0000-0000-000000000001:7"))
    {UUID('00000000-0000-0000-0000-000000000001'): 7}
    """
    found = {}
    for seen in given.getlist("seen")[:MOST_IDS]:
        one, _, revision = seen.partition(":")
        if not revision.isascii() or not revision.isdigit() or len(revision) > 15:
            raise InputError(
                "The request doesn't say which version you saw.",
                next_step="Reload the page and try again.",
            )
        found[_id(one)] = int(revision)
    return found


def ids_of(given: QueryDict, name: str) -> list[uuid.UUID]:
    """Return the ids under that name in order, without repeats. Raises InputError,
    NotFoundError.
    """
    values = [value for value in given.getlist(name) if value]
    if len(values) > MOST_IDS:
        raise InputError(f"{len(values):,} is too many at once.", next_step="Choose fewer.")
    return list(dict.fromkeys(_id(value) for value in values))


def id_of(given: QueryDict, name: str) -> uuid.UUID | None:
    """Return the id under that name, or None."""
    value = given.get(name, "")
    return _id(value) if value else None


def _id(value: str) -> uuid.UUID:
    if found := id_in(value):
        return found
    raise NotFoundError("Not found in this workspace.")


def typed(given: QueryDict, name: str) -> str:
    """Return the text typed there, cut at a length no field needs. The services refuse a NUL."""
    return given.get(name, "")[:LONGEST]


def lines_of(given: QueryDict, name: str, *, divider: str = "\n") -> list[str]:
    """
    >>> lines_of(QueryDict("also=A%0D%0A%0D%0AB"), "also")
    ['A', 'B']
    """
    parts = (part.strip() for part in typed(given, name).replace("\r", "\n").split(divider))
    return [part for part in parts if part]


def selection_of(given: QueryDict) -> Selection:
    """Return the ticked mentions: by document, passage, name, or one by one."""
    return Selection(
        documents=tuple(ids_of(given, "document")),
        chunks=tuple(ids_of(given, "chunk")),
        aliases=tuple(name for name in given.getlist("alias")[:MOST_IDS] if name),
        mentions=tuple(ids_of(given, "mention")),
    )


def selected(selection: Selection) -> str:
    """Return a digest of the selection, to check that what is done is what was previewed."""
    parts = (getattr(selection, name) for name in Selection.__slots__)
    texts = "\0\0".join("\0".join(sorted(map(str, part))) for part in parts)
    return uuid.uuid5(uuid.NAMESPACE_OID, texts).hex


def search_of(query: QueryDict) -> str:
    return forms.words_of(query, "q")


def back_of(request: HttpRequest, default: str) -> str:
    """Return the URL the form wants to return to, if it is one of ours."""
    return next_of(request.POST) or default


def next_of(given: QueryDict) -> str:
    """Return the address to return to; '' if there is none or it is not one of ours.

    >>> next_of(QueryDict("next=/w/demo/graph/")), next_of(QueryDict("next=//elsewhere.example/"))
    ('/w/demo/graph/', '')
    """
    wanted = given.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if is_ours and wanted.startswith("/") else ""


def ends_of(entity: Entity, given: QueryDict) -> tuple[uuid.UUID, uuid.UUID]:
    """Return the source and target of a new fact. Raises InputError if the other end is missing."""
    other = id_of(given, "target")
    if other is None:
        raise InputError(
            "No other entity is selected.",
            kept="Nothing was changed.",
            next_step="Search for it by name and select it.",
        )
    return (other, entity.pk) if given.get("direction") == "in" else (entity.pk, other)
