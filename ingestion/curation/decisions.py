"""Decisions about names: whether two are one, what a name means in a document, and undoing them.

A person's decision is a merge, distinction or split of entities (``ingestion.curation``), with its
event in the history; the decision row records it for a pair of names.
"""

from __future__ import annotations

import uuid
from typing import Final

from django.utils import timezone

from ingestion.curation import effects, suggested
from ingestion.curation.distinct import entities_differ
from ingestion.curation.merging import entities_merge
from ingestion.curation.operation import operation, tell
from ingestion.curation.splitting import Selection, entity_split
from ingestion.curation.subjects import as_subjects, members_of
from ingestion.curation.undoing import event_undo
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Document,
    Entity,
    EventKind,
    HistoryEvent,
    ResolutionDecision,
    Verdict,
)
from ingestion.pipeline import runner
from ingestion.pipeline.propagate import read_anew
from ingestion.resolution.active import load_reading
from ingestion.resolution.keys import Ref, entity_id
from ingestion.stages.resolve import pairs
from kb_project.errors import ConflictError, InputError
from workspaces import access
from workspaces.models import User, Workspace

REASON_LENGTH: Final = recording.REASON_LENGTH


def decision_record(
    *,
    workspace: Workspace,
    user: User,
    left: Entity,
    right: Entity,
    verdict: Verdict,
    reason: str = "",
) -> ResolutionDecision:
    """Decide whether two entities are one. The decision wins over any later one by a model.

    Raises InputError if the two are one row or have the same name: see ``sense_record``.
    """
    if left.key == right.key:
        raise InputError(
            "These two entities have the same name.",
            code="same_name",
            kept="Nothing was changed.",
            next_step="Decide for each document which of the two it means.",
        )
    if left.sense or right.sense:
        raise InputError(
            "A name with several meanings cannot be merged with another name.",
            code="several_meanings",
            kept="Nothing was changed.",
        )
    change = ChangeContext(workspace, user, reason)
    kept, other = sorted((left, right), key=lambda entity: entity.key)
    if verdict == Verdict.UNSURE:
        return _unsure(change, kept, other)
    with access.in_workspace(workspace.pk):
        if verdict == Verdict.SAME:
            event = entities_merge(change=change, kept=kept, others=[other])
        else:
            event = entities_differ(change=change, entities=[kept, other])
        rows = ResolutionDecision.objects.in_workspace(workspace).select_related("user")
        return rows.get(event=event, left_key=kept.key, right_key=other.key)


def sense_record(
    *, workspace: Workspace, user: User, entity: Entity, document: Document, reason: str = ""
) -> ResolutionDecision:
    """Decide that in a document the name of ``entity`` means another, new entity."""
    with access.in_workspace(workspace.pk):
        event = entity_split(
            change=ChangeContext(workspace, user, reason),
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
    """Undo a decision: names are read as without it, and entities keep their ids.

    No one is asked about the pair again. Raises ConflictError: already_undone, or undo_blocked if a
    later change depends on it.
    """
    change = ChangeContext(workspace, user)
    if decision.event_id is not None:
        event_undo(change=change, event=decision.event_id)
    else:
        operation(change, lambda: _undo(change, decision.pk))


def _unsure(change: ChangeContext, left: Entity, right: Entity) -> ResolutionDecision:
    """Record that a person is unsure; its only effect is that no model is asked."""
    decision = ResolutionDecision(
        workspace=change.workspace,
        left_key=left.key,
        right_key=right.key,
        verdict=Verdict.UNSURE,
        reason=" ".join(change.reason.replace("\0", "").split())[:REASON_LENGTH],
        by=ResolutionDecision.By.PERSON,
        user=change.user,
    )
    with access.in_workspace(change.workspace.pk):
        pairs.record(change.workspace.pk, [decision])
        runner.request_refresh(change.workspace.pk)
    return decision


def _undo(change: ChangeContext, decision_id: uuid.UUID) -> HistoryEvent:
    """Undo a decision that has no event, usually a model's."""
    workspace = change.workspace
    rows = ResolutionDecision.objects.in_workspace(workspace).filter(pk=decision_id)
    decision = rows.filter(undone_at=None).first()
    if decision is None:
        raise ConflictError("This decision has already been undone.", code="already_undone")
    refs = _refs(decision)
    ids = {entity_id(workspace.pk, *ref): ref for ref in refs}
    before = effects.state_of(workspace, ids)
    named = Entity.objects.in_workspace(workspace).in_bulk(ids)
    event = recording.record(
        change,
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
    """Return the entities it is about, with all that are read as one with them."""
    left: Ref = (decision.left_key, decision.left_sense)
    if not decision.right_key:
        return [(decision.left_key, 0), (decision.left_key, decision.sense)]
    reading = load_reading(decision.workspace_id, [])
    ends = (left, (decision.right_key, decision.right_sense))
    return sorted({ref for end in ends for ref in (end, *members_of(reading, reading.read(end)))})
