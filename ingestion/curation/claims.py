"""Editing and deleting claims, so that corrections hold when documents are read again."""

from __future__ import annotations

import datetime
import re
from typing import Any, Final

from ingestion.curation import effects
from ingestion.curation.effects import Effect, Verb
from ingestion.curation.operation import operation
from ingestion.curation.validation import (
    ClaimGiven,
    claim_type_given,
    description_given,
    identities,
    invalid,
    living_claim,
)
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import Claim, ClaimRuling, EventKind, HistoryEvent, SubjectKind
from ingestion.pipeline.propagate import propagate
from ingestion.resolution.recorder import Recorder
from ingestion.stages.resolve.claims import identity_of
from workspaces.models import Workspace

Field = ClaimRuling.Field
DATE: Final = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def claim_edit(  # noqa: PLR0913  # a keyword for each thing that may be said
    *,
    change: ChangeContext,
    claim: ClaimGiven,
    description: str | None = None,
    type: str | None = None,
    status: str | None = None,
    period_start: str | None = None,
    period_end: str | None = None,
) -> HistoryEvent:
    """Change a claim, overriding its document. Raises InputError (nothing_to_change, …)."""
    wanted = {
        Field.DESCRIPTION: None if description is None else _described(description),
        Field.TYPE: None if type is None else claim_type_given(type),
        Field.STATUS: None if status is None else _status_given(status),
        Field.PERIOD_START: None if period_start is None else _date_given(period_start),
        Field.PERIOD_END: None if period_end is None else _date_given(period_end),
    }
    return operation(change, lambda: _edit(change, claim, wanted))


def claim_delete(*, change: ChangeContext, claim: ClaimGiven) -> HistoryEvent:
    """Delete a claim, even if its document is read again."""
    return operation(change, lambda: _delete(change, claim))


def delete_effect(*, workspace: Workspace, claim: ClaimGiven) -> Effect:
    """Compute what deleting a claim changes. Call in the workspace's scope."""
    return Effect(verb=Verb.HIDE, reports=_reports(workspace, living_claim(workspace, claim)))


def _described(text: str) -> str:
    description = description_given(text)
    if not description:
        raise invalid("The description is empty.", "Say what is claimed.", "empty")
    return description


def _status_given(status: str) -> str:
    if status not in Claim.Status.values:
        raise invalid(
            f"'{status[:40]}' is not a status.",
            f"Choose one of: {', '.join(Claim.Status.values)}.",
            "unknown_status",
        )
    return status


def _date_given(text: str) -> str:
    """Return an ISO 8601 date of any precision, or ''. Raises InputError (no_date)."""
    given = text.strip()
    parts = DATE.fullmatch(given)
    if not given:
        return ""
    try:
        year, month, day = (int(part or 1) for part in parts.groups()) if parts else (0, 0, 0)
        datetime.date(year, month, day)
    except ValueError:
        raise invalid(
            f"'{given[:40]}' is not a date.",
            "Enter a year, a month or a day, for example 1974, 1974-05 or 1974-05-21.",
            "no_date",
        ) from None
    return given


def _edit(
    change: ChangeContext, given: ClaimGiven, wanted: dict[ClaimRuling.Field, str | None]
) -> HistoryEvent:
    claim = living_claim(change.workspace, given)
    after = {
        field: value
        for field, value in wanted.items()
        if value is not None and value != getattr(claim, field.value)
    }
    if not after:
        raise invalid("There is nothing to change.", "", "nothing_to_change")
    _refuse_backwards(claim, after)
    details = {
        "before": {field.value: _own(claim, field) for field in after},
        "after": {field.value: value for field, value in after.items()},
    }
    event = _record(change, EventKind.CLAIM_EDITED, claim, details)
    recorder, identity = Recorder(event), identity_of(claim)
    for field, value in after.items():
        recorder.claim(claim, identity, field, value)
    propagate(change.workspace.pk, documents=[claim.document_id])
    return event


def _refuse_backwards(claim: Claim, after: dict[ClaimRuling.Field, str]) -> None:
    start = after.get(Field.PERIOD_START, claim.period_start)
    end = after.get(Field.PERIOD_END, claim.period_end)
    # Dates of different precision compare by what both say.
    if start and end and end < start[: len(end)]:
        raise invalid(f"{end} is before {start}.", "Check both dates.", "ends_before_start")


def _own(claim: Claim, field: ClaimRuling.Field) -> str:
    """History outlives documents, so it keeps none of their words."""
    if field == Field.DESCRIPTION and field.value not in claim.proposed:
        return ""
    return str(getattr(claim, field.value))


def _delete(change: ChangeContext, given: ClaimGiven) -> HistoryEvent:
    claim = living_claim(change.workspace, given)
    event = _record(change, EventKind.CLAIM_DELETED, claim, {})
    Recorder(event).claim(claim, identity_of(claim), Field.DELETED)
    propagate(change.workspace.pk, documents=[claim.document_id])
    return event


def _reports(workspace: Workspace, claim: Claim) -> int:
    return effects.reports_about(workspace, [claim.subject_id])


def _record(
    change: ChangeContext, kind: EventKind, claim: Claim, details: dict[str, Any]
) -> HistoryEvent:
    """Record the event, with the claim and its subject as what it changed."""
    counts = Effect(reports=_reports(change.workspace, claim)).figures
    about = identities([claim.subject]) | {
        "claim": str(claim.pk),
        "subject": str(claim.subject_id),
        "counts": counts,
    }
    subjects = {claim.pk: SubjectKind.CLAIM, claim.subject_id: SubjectKind.ENTITY}
    return recording.record(change, kind, subjects, about | details)
