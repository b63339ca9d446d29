"""Parsing of requests to export a part of a graph, and of choices for an import."""

from __future__ import annotations

import uuid
from typing import Final

from django.http import QueryDict

from ingestion.exchange.importing import choices_of
from ingestion.exchange.plans import Choices
from ingestion.exchange.records import Scope
from kb_project.errors import InputError
from workspaces.pages import id_in

MOST_ENTITIES: Final = 2000
LONGEST: Final = 300


def scope_of(query: QueryDict) -> Scope:
    """Return the part to export. Raises InputError for what is no id."""
    ids = tuple(found for value in query.getlist("entity")[:MOST_ENTITIES] if (found := _id(value)))
    return Scope(
        document=_id(query.get("document", "")),
        topic=_id(query.get("topic", "")),
        entities=ids,
        type=query.get("type", "")[:LONGEST].replace("\0", "").strip(),
        text=query.get("q", "")[:LONGEST].replace("\0", "").strip(),
        certainty=query.get("certainty", ""),
        terms=query.get("terms") != "no",
    )


def choices_given(query: QueryDict) -> Choices:
    return choices_of(
        {
            "conflicts": query.get("conflicts", ""),
            "makes_missing": query.get("makes_missing") == "yes",
        }
    )


def _id(text: str) -> uuid.UUID | None:
    if not text:
        return None
    if found := id_in(text):
        return found
    raise InputError(
        "The address names a document, topic or entity that does not exist.",
        code="invalid_id",
        kept="Nothing was exported.",
        next_step="Choose what to export on the page.",
    )
