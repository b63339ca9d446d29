"""Present the scope: collections, tags, dates, documents and names to choose from, and as chips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, F, Func
from django.utils.formats import date_format

from ingestion.documents import queries as document_queries
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Document, Entity
from retrieval.conversations import queries
from retrieval.conversations.forms import DATES, FILTERS, is_id
from workspaces.models import Workspace

MOST_TAGS: Final = 40
MOST_FOUND: Final = 8
# What a chip says before the chosen value.
PREFIXES: Final = {
    "collections": "in",
    "documents": "document",
    "tags": "tagged",
    "media_types": "of type",
    "dated_from": "from",
    "dated_to": "until",
    "include": "about",
    "exclude": "leaving out",
}
# Filters whose values are searched for by typing: the label above the field, and its hint.
SOUGHT: Final = {
    "documents": ("Only these documents", "Part of a title"),
    "include": ("Start with these names", "A person, place or thing"),
    "exclude": ("Leave out these names", "A person, place or thing"),
}
GONE: Final = "no longer exists"


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter: ``name`` is the filter, ``value`` what is submitted."""

    name: str
    value: str
    label: str
    is_chosen: bool = False

    @property
    def prefix(self) -> str:
        return PREFIXES.get(self.name, self.name.replace("_", " "))


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the panel; ``hint`` is set if values are searched for by typing."""

    name: str
    label: str
    choices: tuple[Choice, ...]
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ScopePanel:
    sections: tuple[Section, ...]
    dated_from: str
    dated_to: str
    chips: tuple[Choice, ...]

    @property
    def label(self) -> str:
        if not self.chips:
            return "All documents"
        return self.chips[0].label if len(self.chips) == 1 else f"{len(self.chips)} filters"


def scope_panel(*, workspace: Workspace, filters: Mapping[str, Any]) -> ScopePanel:
    """Build the panel; ``filters`` are as written by ``Scope.as_json``."""
    sections = [
        _shelves(workspace, filters.get("collections", ())),
        _tags(workspace, filters.get("tags", ())),
        _types(filters.get("media_types", ())),
        *(
            Section(name, label, _chosen(workspace, name, filters.get(name, ())), hint)
            for name, (label, hint) in SOUGHT.items()
            if name in FILTERS
        ),
    ]
    dates = [_date(name, filters[name]) for name in sorted(DATES) if filters.get(name)]
    chosen = [one for part in sections for one in part.choices if one.is_chosen]
    return ScopePanel(
        sections=tuple(part for part in sections if part.choices or part.hint),
        dated_from=str(filters.get("dated_from", "")),
        dated_to=str(filters.get("dated_to", "")),
        chips=tuple(chosen + dates),
    )


def _shelves(workspace: Workspace, chosen: Sequence[str]) -> Section:
    rows = queries.collections_of(workspace=workspace)
    choices = [
        Choice("collections", str(row.pk), row.name, is_chosen=str(row.pk) in chosen)
        for row in rows
    ]
    return Section("collections", "Collections", tuple(choices))


def _tags(workspace: Workspace, chosen: Sequence[str]) -> Section:
    """Return the most used tags, and the chosen ones."""
    counted = (
        Document.objects.in_workspace(workspace)
        .filter(Document.IS_LIVE)
        .annotate(tag=Func(F("tags"), function="unnest"))
        .values_list("tag")
        .annotate(number=Count("id"))
        .order_by("-number", "tag")[:MOST_TAGS]
    )
    names = dict.fromkeys([*(tag for tag, _ in counted), *chosen])
    choices = [Choice("tags", tag, tag, is_chosen=tag in chosen) for tag in names]
    return Section("tags", "Tags", tuple(choices))


def _types(chosen: Sequence[str]) -> Section:
    """Return the formats given in the address, so that they can be removed."""
    choices = [Choice("media_types", value, value, is_chosen=True) for value in chosen]
    return Section("media_types", "Formats", tuple(choices))


def _chosen(workspace: Workspace, name: str, values: Sequence[str]) -> tuple[Choice, ...]:
    """Return the earlier choices by name; deleted ones stay, so that they can be removed."""
    ids = [UUID(value) for value in values if is_id(value)]
    if not ids:
        return ()
    if name == "documents":
        titles = Document.objects.in_workspace(workspace).filter(pk__in=ids)
        names = {row.pk: row.title for row in titles.only("title")}
    else:
        found = Entity.objects.in_workspace(workspace).filter(pk__in=ids)
        names = {row.pk: row.name for row in found.only("name")}
    return tuple(Choice(name, str(pk), names.get(pk, GONE), is_chosen=True) for pk in ids)


def found_choices(*, workspace: Workspace, name: str, text: str) -> list[Choice]:
    """Return documents or names that match the typed text; none for other filters."""
    if name not in SOUGHT or name not in FILTERS or not text:
        return []
    if name == "documents":
        titled = document_queries.documents(workspace=workspace, text=text)[:MOST_FOUND]
        return [Choice(name, str(row.pk), row.title) for row in titled]
    named = knowledge_queries.entities(workspace=workspace, text=text)[:MOST_FOUND]
    return [Choice(name, str(row.pk), row.name) for row in named]


def _date(name: str, value: str) -> Choice:
    """Return the chip for a date; an invalid one is shown as submitted."""
    try:
        label = date_format(date.fromisoformat(value), "j M Y")
    except ValueError:
        label = value
    return Choice(name, value, label, is_chosen=True)
