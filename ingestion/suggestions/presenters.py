"""What the page of cases shows: one case, the effect of deciding it, and progress in the queue."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from django.http import QueryDict
from django.utils import timezone

from ingestion.curation import forms, presenters
from ingestion.curation.merging import entities_merge
from ingestion.curation.presenters import Preview, previewed
from ingestion.curation.validation import invalid
from ingestion.documents.forms import words_of
from ingestion.documents.presenters import reader_url
from ingestion.history import queries as history_queries, sentences
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import HistoryEvent, HistorySubject
from ingestion.suggestions import cases
from ingestion.suggestions.cases import DECISIONS, MOST_SHOWN, Case, Counts
from ingestion.suggestions.filtering import CaseFilter, kinds_in, types_in
from ingestion.suggestions.sides import Quote, Side
from kb_project.errors import NotFoundError
from workspaces.models import User, Workspace
from workspaces.pages import id_in

FEWEST: Final = 2
CASES_PER_PAGE: Final = 25
MOST_DOCUMENTS: Final = 60
MOST_NAMES: Final = 6
IN_WORDS: Final = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
THRESHOLDS: Final = (99, 95, 90, 85, 80)
"""Certainties, in percent, offered for bulk merging."""
USUAL: Final = 95
GONE: Final = "Someone has already decided this case, or it no longer exists."


@dataclass(frozen=True, slots=True)
class LinkedQuote:
    """A quote, and the URL to read it at."""

    quote: Quote
    url: str


@dataclass(frozen=True, slots=True)
class Card:
    """One entity of a case; ``number`` is the keyboard key that keeps it."""

    number: int
    side: Side
    is_kept: bool
    places: tuple[LinkedQuote, ...]


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case with the choices made in it so far."""

    case: Case
    cards: tuple[Card, ...]
    dropped: tuple[Side, ...]
    kept: Side
    gained: tuple[str, ...]
    preview: Preview | None

    @property
    def seen(self) -> list[str]:
        return [f"{one}:{revision}" for one, revision in self.case.expected.items()]

    @property
    def names(self) -> str:
        return sentences.quoted([card.side.name for card in self.cards])

    @property
    def number(self) -> str:
        """The number of entities side by side, in words."""
        return IN_WORDS[len(self.cards)]

    @property
    def may_drop(self) -> bool:
        return len(self.cards) > FEWEST


@dataclass(frozen=True, slots=True)
class Choice:
    """The choices in a case: which entity is kept, and which are left out of the decision."""

    kept: uuid.UUID
    dropped: tuple[uuid.UUID, ...]
    entities: tuple[uuid.UUID, ...]

    @property
    def set(self) -> list[uuid.UUID]:
        """The entities the decision is about."""
        return [one for one in self.entities if one not in self.dropped]


def chosen_of(case: Case, given: QueryDict) -> Choice:
    """Read the choices. Raises InputError for entities outside the case, or fewer than two left."""
    entities = tuple(side.id for side in case.entities)
    dropped = tuple(forms.ids_of(given, "drop"))
    kept = forms.id_of(given, "kept") or case.kept
    if not {kept, *dropped} <= set(entities):
        raise invalid(
            "This entity is not part of the case.",
            "Choose one of the entities shown.",
            "not_in_the_case",
        )
    left = [one for one in entities if one not in dropped]
    if len(left) < FEWEST:
        raise invalid(
            "A case needs at least two entities.",
            "Mark them as not the same, or skip the case.",
            "too_few",
        )
    if kept in dropped:
        kept = case.kept if case.kept in left else left[0]
    return Choice(kept, dropped, entities)


# --- the page -------------------------------------------------------------------------------------
def queue_context(*, workspace: Workspace, user: User, given: QueryDict) -> dict[str, Any]:
    """Build the page's context. Raises InputError for choices no page offers."""
    page = cases.case_queue(
        workspace=workspace, user=user, limit=1, after=given.get("after", "")[:100]
    )
    wanted = forms.id_of(given, "case")
    case, notice = _case(workspace, user, page.cases, wanted)
    return presenters.page_context(
        workspace,
        "curation",
        shown=_shown(workspace, case, given if case and case.key == wanted else QueryDict()),
        notice=notice,
        counts=page.counts,
        open_number=min(page.counts.open, MOST_SHOWN),
        progress=progress(page.counts, case),
        next=page.next,
        refused=cases.case_refused(workspace=workspace),
        last=last_decision(workspace, user) if workspace.may_curate else None,
        usual=USUAL,
    )


def list_context(*, workspace: Workspace, user: User, given: QueryDict) -> dict[str, Any]:
    """Build the page that lists the cases. Raises InputError for a position no page offers."""
    wanted = filter_of(given)
    page = cases.case_queue(
        workspace=workspace,
        user=user,
        limit=CASES_PER_PAGE,
        after=given.get("after", "")[:100],
        wanted=wanted,
    )
    groups = cases.open_groups(workspace)
    return presenters.page_context(
        workspace,
        "curation",
        cases=page.cases,
        next=page.next,
        total=page.counts.open,
        wanted=wanted,
        percent=round(wanted.certainty * 100),
        types=types_in(workspace, groups),
        kinds=kinds_in(workspace),
        documents=knowledge_queries.documents_to_choose(workspace, MOST_DOCUMENTS, wanted.document),
        thresholds=[(one, f"{one} % or more") for one in THRESHOLDS],
    )


def filter_of(given: QueryDict) -> CaseFilter:
    """Read the filters of an address; those that mean nothing here count as none."""
    percent = given.get("certainty", "")
    return CaseFilter(
        certainty=int(percent) / 100 if percent in map(str, THRESHOLDS) else 0,
        type=words_of(given, "type"),
        document=id_in(given.get("document", "")),
        kind=words_of(given, "kind"),
    )


def _case(
    workspace: Workspace, user: User, first: Collection[Case], wanted: uuid.UUID | None
) -> tuple[Case | None, str]:
    if wanted is None or any(case.key == wanted for case in first):
        return next(iter(first), None), ""
    try:
        return cases.case_get(workspace=workspace, key=wanted, user=user), ""
    except NotFoundError:
        return next(iter(first), None), GONE


def _shown(workspace: Workspace, case: Case | None, given: QueryDict) -> ShownCase | None:
    if case is None:
        return None
    chosen = chosen_of(case, given)
    sides = {side.id: side for side in case.entities}
    kept = sides[chosen.kept]
    inside = [sides[one] for one in chosen.set]
    others = [one for one in chosen.set if one != chosen.kept]
    names = dict.fromkeys(name for side in inside for name in (side.name, *side.aliases))
    gained = [name for name in names if name not in (kept.name, *kept.aliases)]
    return ShownCase(
        case=case,
        cards=tuple(
            Card(number, side, side.id == kept.id, _quotes(workspace, side))
            for number, side in enumerate(inside, start=1)
        ),
        dropped=tuple(sides[one] for one in chosen.dropped),
        kept=kept,
        gained=tuple(gained[:MOST_NAMES]),
        preview=previewed(entities_merge, workspace=workspace, kept=chosen.kept, others=others)
        if workspace.may_curate
        else None,
    )


def _quotes(workspace: Workspace, side: Side) -> tuple[LinkedQuote, ...]:
    return tuple(
        LinkedQuote(one, reader_url(workspace, one.document_id, start=one.start, end=one.end))
        for one in side.quotes
    )


def progress(counts: Counts, case: Case | None) -> str:
    """
    >>> progress(Counts(open=21, skipped=3, decided_today=3), None)
    '21 open, 3 decided today'
    """
    done = f"{counts.decided_today} decided today"
    if case is None:
        return f"{counts.open} open, {done}"
    total = counts.open + counts.decided_today
    if case.is_skipped:
        return f"{counts.open} of {total} left, all of them put off; {done}"
    return f"{counts.decided_today + counts.skipped + 1} of {total}, {done}"


# --- earlier decisions ----------------------------------------------------------------------------
def last_decision(workspace: Workspace, user: User) -> HistoryEvent | None:
    """Return the user's latest decision of today that can be undone."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    rows = history_queries.events(workspace=workspace, user=user)
    return rows.filter(kind__in=DECISIONS, undone_at=None, created_at__gte=midnight).first()


def meanwhile(workspace: Workspace, seen: dict[uuid.UUID, int]) -> str:
    """Describe the latest change to the entities since they were seen; '' if there was none."""
    rows = (
        HistorySubject.objects.in_workspace(workspace)
        .filter(subject_id__in=list(seen))
        .order_by("-sequence")
        .values_list("subject_id", "sequence", "event_id")
    )
    later = [event for one, sequence, event in rows[:50] if sequence > seen[one]]
    if not later:
        return ""
    event = history_queries.event_get(workspace=workspace, event_id=later[0])
    return f"{sentences.active(event)}."
