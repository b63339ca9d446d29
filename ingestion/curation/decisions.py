"""Deciding whether two names are one entity, and what a name means in a document.

A person's decision is a merge, distinction or split of entities, with its event in the history; the
decision row records it for a pair of names.
"""

from __future__ import annotations

from ingestion.curation.merging import entities_differ, entities_merge
from ingestion.curation.splitting import Selection, entity_split
from ingestion.curation.validation import invalid
from ingestion.history.recording import REASON_LENGTH, ChangeContext
from ingestion.models import Document, Entity, ResolutionDecision, Verdict
from ingestion.pipeline import runner
from ingestion.resolution.recorder import Recorder
from ingestion.stages.resolve.applying import record_decisions
from workspaces import access
from workspaces.models import User, Workspace


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
        raise invalid(
            "These two entities have the same name.",
            "Decide for each document which of the two it means.",
            "same_name",
        )
    if left.sense or right.sense:
        raise invalid(
            "A name with several meanings cannot be merged with another name.",
            "",
            "several_meanings",
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
        return Recorder(event).sense((key, sense), document)


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
        record_decisions(change.workspace.pk, [decision])
        runner.request_refresh(change.workspace.pk)
    return decision
