"""Decisions about names, for pages and the API."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from django.db.models import Q, QuerySet
from django.db.models.functions import Length

from ingestion.models import (
    Alias,
    Entity,
    EventKind,
    MergeSuggestion,
    ResolutionDecision,
    Verdict,
)
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.overrides import PLAIN, NameResolution
from kb_project.errors import found
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class DecisionView:
    """A decision and its effect.

    ``left`` and ``right`` are the names as documents write them. ``is_conflicting``: it is in
    force, but would join names decided to be distinct. ``is_waiting``: it is in force, but would
    join names that have not been decided on one by one.
    """

    decision: ResolutionDecision
    left: str
    right: str
    is_conflicting: bool = False
    is_waiting: bool = False

    @property
    def is_undone(self) -> bool:
        return self.decision.undone_at is not None

    @property
    def decider(self) -> str:
        """Who decided, for display."""
        row = self.decision
        if not row.is_by_person:
            return row.model or "a model"
        return str(row.user) if row.user else "a former member"


def decisions(*, workspace: Workspace, keys: Iterable[str] = ()) -> QuerySet[ResolutionDecision]:
    """Latest first; only those about names with one of the keys, if any are given."""
    rows = ResolutionDecision.objects.in_workspace(workspace)
    wanted = list(keys)
    if wanted:
        rows = rows.filter(Q(left_key__in=wanted) | Q(right_key__in=wanted))
    return rows.select_related("document", "user").order_by("-created_at", "id")


def decision_get(*, workspace: Workspace, decision_id: uuid.UUID) -> ResolutionDecision:
    """Raises NotFoundError."""
    rows = ResolutionDecision.objects.in_workspace(workspace)
    return found(rows.filter(pk=decision_id).first(), "decision")


def decision_views(
    *, workspace: Workspace, rows: Iterable[ResolutionDecision]
) -> list[DecisionView]:
    shown = list(rows)
    is_needed = any(row.verdict == Verdict.SAME and row.right_key for row in shown)
    resolution = load_resolution(workspace.pk) if is_needed else PLAIN
    names = _names(workspace, shown)
    return [_view(row, resolution, names) for row in shown]


def _names(workspace: Workspace, shown: Iterable[ResolutionDecision]) -> dict[str, str]:
    """Names as documents write them, by normalised form; the longest of several."""
    keys = {key for row in shown for key in (row.left_key, row.right_key) if key}
    rows = Alias.objects.in_workspace(workspace).filter(key__in=keys)
    pairs = rows.order_by(Length("name"), "-name").values_list("key", "name").distinct()
    return dict(pairs)


def _view(
    row: ResolutionDecision, resolution: NameResolution, names: Mapping[str, str]
) -> DecisionView:
    keys = (row.left_key, row.right_key)
    left, right = (names.get(key, key) for key in keys)
    if row.undone_at or row.verdict != Verdict.SAME or not row.right_key:
        return DecisionView(row, left, right)
    if keys in resolution.conflicting:
        return DecisionView(row, left, right, is_conflicting=True)
    first, second = map(resolution.resolve, row.ends)
    return DecisionView(row, left, right, is_waiting=first != second)


def decisions_about(*, workspace: Workspace, entity: Entity) -> list[DecisionView]:
    """Decisions about an entity's names, latest first; not those of renames that were undone."""
    aliases = entity.aliases.filter(workspace=workspace).values_list("key", flat=True)
    rows = decisions(workspace=workspace, keys={entity.key, *aliases})
    rows = rows.exclude(verdict=Verdict.UNSURE)
    rows = rows.exclude(event__kind=EventKind.ENTITY_EDITED, undone_at__isnull=False)
    return decision_views(workspace=workspace, rows=rows[:50])


MOST_ALIKE: Final = 5


@dataclass(frozen=True, slots=True)
class LookAlike:
    """An entity that may be the same as the given one, and why."""

    other: Entity
    reason: str


def look_alikes(*, workspace: Workspace, entity: Entity) -> list[LookAlike]:
    """Open suggestions that wait for a person's decision, the most similar first."""
    rows = (
        MergeSuggestion.objects.in_workspace(workspace)
        .filter(Q(left=entity) | Q(right=entity), state=MergeSuggestion.State.OPEN)
        .select_related("left", "right")
        .order_by("-score", "id")[:MOST_ALIKE]
    )
    return [
        LookAlike(row.right if row.left_id == entity.pk else row.left, row.reason) for row in rows
    ]


def entity_of_key(*, workspace: Workspace, key: str) -> Entity | None:
    """The entity of that name with the lowest sense."""
    return Entity.objects.in_workspace(workspace).filter(key=key).order_by("sense").first()
