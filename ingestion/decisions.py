"""Decisions of people about names: recorded, obeyed on every later run, and taken back.

What a decision touches is read anew from what was extracted, in the same transaction: the rows are
what they would be had the documents come in under it. A refresh lets graph and topics follow.
"""

from __future__ import annotations

import logging

from django.utils import timezone

from ingestion import pipeline
from ingestion.models import Document, Entity, ResolutionDecision, Verdict
from ingestion.rulings import pair_of
from ingestion.stages.resolve import pairs
from ingestion.standing import load_reading, next_sense
from kb_project.errors import ConflictError, InputError
from workspaces import access
from workspaces.models import User, Workspace

logger = logging.getLogger(__name__)

REASON_LENGTH = 1000


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
    pair = pair_of(left.key, right.key)
    decision = _decision(workspace, user, verdict, reason)
    decision.left_key, decision.right_key = pair
    with access.in_workspace(workspace.pk):
        pairs.record(workspace.pk, [decision])
        pipeline.request_refresh(workspace.pk)
    _log("recorded", decision)
    return decision


def sense_record(
    *, workspace: Workspace, user: User, entity: Entity, document: Document, reason: str = ""
) -> ResolutionDecision:
    """Say that in a document the name of ``entity`` means something else: a thing of its own."""
    with access.in_workspace(workspace.pk):
        pairs.hold(workspace.pk)
        decision = _decision(workspace, user, Verdict.DIFFERENT, reason)
        decision.left_key, decision.document = entity.key, document
        decision.sense = next_sense(workspace.pk, entity.key)
        decision.save(force_insert=True)
        pairs.reread(workspace.pk, [entity.key])
        pipeline.request_refresh(workspace.pk)
    _log("recorded", decision)
    return decision


def decision_undo(*, workspace: Workspace, decision: ResolutionDecision, user: User) -> None:
    """Take a decision back: names are read as they were without it, under the ids they had.

    Nobody is asked about it again. Raises ConflictError when it was taken back before.
    """
    with access.in_workspace(workspace.pk):
        pairs.hold(workspace.pk)
        before = load_reading(workspace.pk, [])
        found = ResolutionDecision.objects.in_workspace(workspace).filter(
            pk=decision.pk, undone_at=None
        )
        if not found.update(undone_at=timezone.now()):
            raise ConflictError("This decision was taken back already.", code="already_undone")
        if decision.right_key:
            keys = pairs.read_otherwise(before, load_reading(workspace.pk, []))
            pair = (decision.left_key, decision.right_key)
            pairs.show_in_suggestions(workspace.pk, [(pair, _standing(decision))])
        else:
            keys = {decision.left_key}
        pairs.reread(workspace.pk, keys)
        pipeline.request_refresh(workspace.pk)
    logger.info(
        "decision undone workspace=%s decision=%s user=%s", workspace.pk, decision.pk, user.pk
    )


def _decision(
    workspace: Workspace, user: User, verdict: Verdict, reason: str
) -> ResolutionDecision:
    return ResolutionDecision(
        workspace=workspace,
        verdict=verdict,
        reason=" ".join(reason.replace("\0", "").split())[:REASON_LENGTH],
        by=ResolutionDecision.By.PERSON,
        user=user,
    )


def _standing(undone: ResolutionDecision) -> str:
    """What is still decided about the pair; a person's word first, then the latest."""
    left = ResolutionDecision.objects.in_workspace(undone.workspace_id).filter(
        left_key=undone.left_key, right_key=undone.right_key, undone_at=None
    )
    verdict = left.order_by("-by", "-created_at").values_list("verdict", flat=True).first()
    return verdict or Verdict.UNSURE


def _log(done: str, decision: ResolutionDecision) -> None:
    logger.info("decision %s workspace=%s decision=%s", done, decision.workspace_id, decision.pk)
