"""Decisions about names: whether two are one, what a document means by one, and taking them back.

What a person decides is a merge, a difference or a split of entities (``ingestion.curation``),
with its event in the history; a decision is the row of it that speaks of a pair of names.
"""

from __future__ import annotations

import uuid
from typing import Final

from django.utils import timezone

from ingestion import history, pipeline
from ingestion.curation import effects, suggested
from ingestion.curation.carrying import carried_out, tell
from ingestion.curation.differing import entities_differ
from ingestion.curation.merging import entities_merge
from ingestion.curation.settling import read_anew
from ingestion.curation.splitting import Selection, entity_split
from ingestion.curation.subjects import as_subjects, members_of
from ingestion.curation.undoing import event_undo
from ingestion.history import Deed
from ingestion.identity import Ref, entity_id
from ingestion.models import (
    Document,
    Entity,
    EventKind,
    HistoryEvent,
    ResolutionDecision,
    Verdict,
)
from ingestion.stages.resolve import pairs
from ingestion.standing import load_reading
from kb_project.errors import ConflictError, InputError
from workspaces import access
from workspaces.models import User, Workspace

REASON_LENGTH: Final = history.REASON_LENGTH


def decision_record(
    *,
    workspace: Workspace,
    user: User,
    left: Entity,
    right: Entity,
    verdict: Verdict,
    reason: str = "",
) -> ResolutionDecision:
    """Say whether two entities are one. It stands against whatever a model says later.

    Raises InputError where the two are one row, or things of one name: see ``sense_record``.
    """
    if left.key == right.key:
        raise InputError(
            "These two have the same name already.",
            code="same_name",
            kept="Nothing was changed.",
            next_step="Say for a document which of the two it means.",
        )
    if left.sense or right.sense:
        raise InputError(
            "A name that means several things cannot be joined with another name.",
            code="several_meanings",
            kept="Nothing was changed.",
        )
    deed = Deed(workspace, user, reason)
    kept, other = sorted((left, right), key=lambda entity: entity.key)
    if verdict == Verdict.UNSURE:
        return _unsure(deed, kept, other)
    with access.in_workspace(workspace.pk):
        if verdict == Verdict.SAME:
            event = entities_merge(deed=deed, kept=kept, others=[other])
        else:
            event = entities_differ(deed=deed, entities=[kept, other])
        rows = ResolutionDecision.objects.in_workspace(workspace).select_related("user")
        return rows.get(event=event, left_key=kept.key, right_key=other.key)


def sense_record(
    *, workspace: Workspace, user: User, entity: Entity, document: Document, reason: str = ""
) -> ResolutionDecision:
    """Say that in a document the name of ``entity`` means something else: a thing of its own."""
    with access.in_workspace(workspace.pk):
        event = entity_split(
            deed=Deed(workspace, user, reason),
            entity=entity,
            selection=Selection(documents=(document.pk,)),
            name=entity.name,
        )
        key, sense = event.details["refs"][event.details["into"]]
        return ResolutionDecision.objects.create(
            workspace=workspace,
            left_key=key,
            document=document,
            sense=sense,
            verdict=Verdict.DIFFERENT,
            reason=event.reason,
            by=ResolutionDecision.By.PERSON,
            user=user,
            event=event,
        )


def decision_undo(*, workspace: Workspace, decision: ResolutionDecision, user: User) -> None:
    """Take a decision back: names are read as they were without it, under the ids they had.

    Nobody is asked about it again. Raises ConflictError: already_undone, or undo_blocked where
    something later stands in the way.
    """
    deed = Deed(workspace, user)
    if decision.event_id is not None:
        event_undo(deed=deed, event=decision.event_id)
    else:
        carried_out(deed, lambda: _undo(deed, decision.pk))


def _unsure(deed: Deed, left: Entity, right: Entity) -> ResolutionDecision:
    """Nothing changes by it but that a model is not asked."""
    decision = ResolutionDecision(
        workspace=deed.workspace,
        left_key=left.key,
        right_key=right.key,
        verdict=Verdict.UNSURE,
        reason=" ".join(deed.reason.replace("\0", "").split())[:REASON_LENGTH],
        by=ResolutionDecision.By.PERSON,
        user=deed.user,
    )
    with access.in_workspace(deed.workspace.pk):
        pairs.record(deed.workspace.pk, [decision])
        pipeline.request_refresh(deed.workspace.pk)
    return decision


def _undo(deed: Deed, decision_id: uuid.UUID) -> HistoryEvent:
    """Have a decision count no more that came with no event: most often a model's."""
    workspace = deed.workspace
    rows = ResolutionDecision.objects.in_workspace(workspace).filter(pk=decision_id)
    decision = rows.filter(undone_at=None).first()
    if decision is None:
        raise ConflictError("This decision was undone already.", code="already_undone")
    refs = _refs(decision)
    ids = {entity_id(workspace.pk, *ref): ref for ref in refs}
    before = effects.state_of(workspace, ids)
    named = Entity.objects.in_workspace(workspace).in_bulk(ids)
    event = history.record(
        deed,
        EventKind.DECISION_UNDONE,
        as_subjects(*ids),
        {
            "names": {str(one): named[one].name if one in named else ids[one][0] for one in ids},
            "refs": {str(one): list(ref) for one, ref in ids.items()},
            "decision": str(decision.pk),
            "left": decision.left_key,
            "right": decision.right_key,
            "verdict": decision.verdict,
        },
    )
    rows.update(undone_at=timezone.now())
    if decision.right_key:
        suggested.show_standing(workspace, [(decision.left_key, decision.right_key)])
    read_anew(workspace.pk, {key for key, _ in refs})
    effect = effects.between(before, effects.state_of(workspace, ids), verb=effects.Verb.RETURN)
    return tell(event, {"counts": effect.figures})


def _refs(decision: ResolutionDecision) -> list[Ref]:
    """The entities it speaks of, with all that is read as one with them."""
    left: Ref = (decision.left_key, decision.left_sense)
    if not decision.right_key:
        return [(decision.left_key, 0), (decision.left_key, decision.sense)]
    reading = load_reading(decision.workspace_id, [])
    ends = (left, (decision.right_key, decision.right_sense))
    return sorted({ref for end in ends for ref in (end, *members_of(reading, reading.read(end)))})
