"""The audit page and its export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import render

from ingestion.audit import queries
from ingestion.audit.queries import ACTIONS, VIA, AuditEntry, AuditFilter
from ingestion.curation.history_views import day_of, midnight
from ingestion.documents import forms
from ingestion.history import queries as history_queries
from kb_project.errors import InputError
from kb_project.http.downloads import csv_response, safe_cell
from workspaces import audit
from workspaces.models import AuditAction, Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

ENTRIES_PER_PAGE: Final = 50
MOST_EXPORTED: Final = 50_000
_BATCH: Final = 1_000
_COLUMNS: Final = (
    "when",
    "who",
    "token",
    "via",
    "action",
    "sentence",
    "object_kind",
    "object_id",
    "object_name",
    "reason",
    "before",
    "after",
    "is_undone",
    "request_id",
)


@dataclass(frozen=True, slots=True)
class AuditForm:
    """The filter as the page's form has it: days, where the query has moments."""

    person: int | None = None
    action: str = ""
    kind: str = ""
    via: str = ""
    since: date | None = None
    until: date | None = None

    @property
    def is_narrow(self) -> bool:
        return any(asdict(self).values())

    @property
    def filter(self) -> AuditFilter:
        last = self.until if self.until and self.until < date.max else None
        return AuditFilter(
            person=self.person,
            action=self.action,
            kind=self.kind,
            via=self.via,
            since=midnight(self.since) if self.since else None,
            until=midnight(last + timedelta(days=1)) if last else None,
        )

    @property
    def in_words(self) -> dict[str, str]:
        """Return what restricts the list, for the record of an export."""
        return {name: str(value) for name, value in asdict(self).items() if value}


def form_of(query: QueryDict) -> AuditForm:
    """Parse a filter; invalid parts are ignored."""
    action, via = query.get("action", ""), query.get("via", "")
    return AuditForm(
        person=forms.number(query, "person"),
        action=action if action in dict(ACTIONS) else "",
        kind=query.get("kind", "").replace("\0", "")[:40],
        via=via if via in VIA else "",
        since=day_of(query.get("since", "")),
        until=day_of(query.get("until", "")),
    )


def audit_context(*, workspace: Workspace, query: QueryDict) -> dict[str, Any]:
    form = form_of(query)
    found = queries.places(workspace=workspace, wanted=form.filter)
    page: Page[queries.Place] = Paginator(found, ENTRIES_PER_PAGE).get_page(query.get("page"))
    return {
        "workspace": workspace,
        "section": "audit",
        "wanted": form,
        "page": page,
        "entries": queries.entries(workspace=workspace, at=list(page.object_list)),
        "people": [(one.pk, str(one)) for one in queries.people(workspace=workspace)],
        "kinds": [
            (one, queries.object_label(one)) for one in queries.object_kinds(workspace=workspace)
        ],
        "actions": [
            ("Workspace", AuditAction.choices),
            ("Documents and entities", history_queries.LISTED),
        ],
        "ways": VIA.items(),
    }


def export_rows(*, workspace: Workspace, wanted: AuditFilter) -> list[list[str]]:
    """Return a heading and a row for each entry. Raises InputError if there are too many."""
    places = list(queries.places(workspace=workspace, wanted=wanted)[: MOST_EXPORTED + 1])
    if len(places) > MOST_EXPORTED:
        raise InputError(
            f"More than {MOST_EXPORTED:,} entries match.",
            code="too_many_entries",
            kept="Nothing was exported.",
            next_step="Choose a shorter time, and export the others afterwards.",
        )
    return [list(_COLUMNS), *_rows(workspace, places)]


def _rows(workspace: Workspace, places: list[queries.Place]) -> Iterator[list[str]]:
    for start in range(0, len(places), _BATCH):
        some = places[start : start + _BATCH]
        for entry in queries.entries(workspace=workspace, at=some):
            yield [safe_cell(_cell(entry, column)) for column in _COLUMNS]


def _cell(entry: AuditEntry, column: str) -> str:
    value = getattr(entry, column)
    if column == "when":
        return str(value.isoformat(timespec="seconds"))
    if column in ("before", "after"):
        return json.dumps(value, ensure_ascii=False) if value else ""
    if column == "is_undone":
        return "yes" if value else ""
    return str(value)


@workspace_page(Capability.ADMINISTER)
def audit_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = audit_context(workspace=workspace, query=request.GET)
    return render(request, "ingestion/audit/audit_list.html", context)


@workspace_page(Capability.ADMINISTER)
def audit_export(request: UserRequest, workspace: Workspace) -> HttpResponse:
    form = form_of(request.GET)
    rows = export_rows(workspace=workspace, wanted=form.filter)
    audit.record(
        AuditAction.AUDIT_EXPORTED,
        workspace=workspace,
        user=request.user,
        after={"entries": len(rows) - 1, **form.in_words},
    )
    return csv_response(f"audit-{workspace.slug}.csv", rows)
