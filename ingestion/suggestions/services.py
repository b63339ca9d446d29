"""Decide cases, singly or all above a certainty, or put them off.

Every decision is an event that can be undone.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import blake2b
from typing import Any, Final

from django.utils import timezone

from ingestion.curation.effects import Effect
from ingestion.curation.merging import entities_merge
from ingestion.curation.operation import operation
from ingestion.curation.previewing import preview
from ingestion.curation.validation import UNCHANGED, invalid
from ingestion.history.recording import ChangeContext
from ingestion.models import HistoryEvent, SuggestionSkip
from ingestion.suggestions.cases import Group, open_groups
from ingestion.suggestions.sides import Side, sides_of
from kb_project.errors import PreconditionError
from workspaces import access
from workspaces.models import User, Workspace

LOWEST: Final = 0.5
"""Below this certainty, someone has to review every case."""
MOST_AT_ONCE: Final = 50
SKIPS_KEPT: Final = timedelta(days=90)
"""Decided cases keep their skip, because nothing reports the decision: old skips are deleted."""


@dataclass(frozen=True, slots=True)
class BulkEffect:
    """The effect of accepting every case above a certainty.

    ``left`` counts cases beyond the batch size and those that share an entity with another case.
    ``digest`` identifies the cases previewed, so that nothing else is accepted. ``merges`` are the
    kept names, each with those merged into it.
    """

    threshold: float
    cases: int
    entities: int
    effect: Effect
    left: int
    digest: str
    merges: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def sentence(self) -> str:
        if not self.cases:
            return "No open case reaches that certainty."
        noun = "case is" if self.cases == 1 else "cases are"
        into = f"{self.entities} entities become {self.entities - self.gone}"
        rest = f" {self.left} more are left for next time." if self.left else ""
        return f"{self.cases} {noun} merged: {into}. {self.effect.sentence}{rest}"

    @property
    def gone(self) -> int:
        return self.entities - self.cases


def case_accept(
    *,
    change: ChangeContext,
    entities: Iterable[uuid.UUID],
    kept: uuid.UUID,
    dropped: Iterable[uuid.UUID] = (),
) -> HistoryEvent:
    """Merge a case into ``kept``. Nothing is decided about ``dropped``.

    Raises what ``entities_merge`` raises, and InputError for entities outside the case.
    """
    given, out = list(dict.fromkeys(entities)), set(dropped)
    if kept not in given or kept in out or not out <= set(given):
        raise invalid(
            "The entities to keep and to leave out must belong to the case.", "", "not_in_the_case"
        )
    others = [one for one in given if one != kept and one not in out]
    return entities_merge(change=change, kept=kept, others=others)


def accept_above_preview(*, workspace: Workspace, threshold: float) -> BulkEffect:
    """Compute the effect of ``cases_accept_above``. Call in the workspace's scope."""
    chosen, left = _above(workspace, threshold)
    sides = sides_of(workspace, {one for group in chosen for one in group.entities})
    total = Effect()
    merges = []
    for group in chosen:
        kept, others = _kept(group, sides)
        merges.append((sides[kept].name, tuple(sides[one].name for one in others)))
        total = _sum(total, preview(entities_merge, workspace=workspace, kept=kept, others=others))
    return BulkEffect(
        threshold=threshold,
        cases=len(chosen),
        entities=sum(len(group.entities) for group in chosen),
        effect=total,
        left=left,
        digest=_digest(chosen),
        merges=tuple(merges),
    )


def cases_accept_above(
    *, change: ChangeContext, threshold: float, digest: str = ""
) -> list[HistoryEvent]:
    """Merge every open case of at least this certainty, in one transaction.

    Returns the events, of one batch: undoing any of them undoes all. Raises InputError, and
    PreconditionError if ``digest`` does not match the cases to be merged.
    """
    batch = change.batch or uuid.uuid4()
    events: list[HistoryEvent] = []

    def work() -> HistoryEvent:
        events[:] = _accept_all(replace(change, batch=batch), threshold, digest)
        return events[0]

    operation(change, work)
    return events


def _accept_all(change: ChangeContext, threshold: float, digest: str) -> list[HistoryEvent]:
    chosen, _ = _above(change.workspace, threshold)
    if digest and digest != _digest(chosen):
        raise PreconditionError(
            "The list has changed since your preview.",
            kept=UNCHANGED,
            next_step="Look at the new preview, then decide again.",
        )
    if not chosen:
        raise invalid(
            "No open case reaches that certainty.",
            "Choose a lower certainty, or review the cases one by one.",
            "nothing_to_accept",
        )
    sides = sides_of(change.workspace, {one for group in chosen for one in group.entities})
    # Revisions were checked before; each of these merges changes those of the next.
    each = replace(change, expected={})
    return [
        entities_merge(change=each, kept=kept, others=others)
        for kept, others in (_kept(group, sides) for group in chosen)
    ]


def _above(workspace: Workspace, threshold: float) -> tuple[list[Group], int]:
    """Return cases of which no two share an entity, and the number left out."""
    if not LOWEST <= threshold <= 1:
        raise invalid(
            f"The certainty must be between {LOWEST:.0%} and 100%.", "", "certainty_out_of_range"
        )
    taken: set[uuid.UUID] = set()
    chosen: list[Group] = []
    left = 0
    for group in open_groups(workspace):
        if group.certainty < threshold:
            continue
        if len(chosen) == MOST_AT_ONCE or not taken.isdisjoint(group.entities):
            left += 1
            continue
        taken.update(group.entities)
        chosen.append(group)
    return chosen, left


def _kept(group: Group, sides: dict[uuid.UUID, Side]) -> tuple[uuid.UUID, list[uuid.UUID]]:
    first, *rest = sorted((sides[one] for one in group.entities), key=Side.worth_keeping)
    return first.id, [side.id for side in rest]


def _digest(groups: Collection[Group]) -> str:
    keys = " ".join(sorted(str(group.key) for group in groups))
    return blake2b(keys.encode(), digest_size=8).hexdigest()


def _sum(one: Effect, other: Effect) -> Effect:
    figures: dict[str, Any] = {
        name: value + other.figures[name] for name, value in one.figures.items()
    }
    return replace(one, **figures, notes=tuple(dict.fromkeys((*one.notes, *other.notes))))


def case_skip(*, workspace: Workspace, user: User, case: uuid.UUID) -> None:
    """Put a case off: it comes back to the user after the others. There is no event."""
    with access.in_workspace(workspace.pk):
        mine = SuggestionSkip.objects.in_workspace(workspace).filter(user=user)
        mine.filter(skipped_at__lt=timezone.now() - SKIPS_KEPT).delete()
        SuggestionSkip.objects.bulk_create(
            [SuggestionSkip(workspace=workspace, user=user, case=case)],
            update_conflicts=True,
            unique_fields=["workspace", "user", "case"],
            update_fields=["skipped_at"],
        )
