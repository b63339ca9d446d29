"""A workspace with entities that were suggested to be one, for tests of the queue."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from ingestion.models import (
    Entity,
    MergeSuggestion,
    ResolutionDecision,
    Verdict,
)
from ingestion.resolution.keys import entity_id
from kb_project.text.names import normalise_name
from tests import rows
from workspaces import access
from workspaces.models import User, Workspace

ACME = "Acme Instruments"
INC = "Acme Instruments Inc."
UNIT = "Sea Observation Unit"
SOU = "SOU"
TEXTS = {
    "Minutes": f"The board thanked {INC} for the lamp.\n\n{INC} will send an invoice.",
    "Letter": f"We ordered oil from {ACME}.\n\nThe {UNIT} rows out. {ACME} pays for it.",
    "Log": f"{SOU} came by.\n\nA quiet night, wrote {ACME}.",
}
REASONS = [
    {"kind": "name", "weight": 4.5, "words": "same name after removing Inc."},
    {"kind": "types", "weight": 0.4, "words": ""},
    {"kind": "neighbours", "weight": 1.2, "words": "share 4 neighbours"},
]


def make_harbour() -> rows.Cast:
    """Two pairs that may be one; the first is named more often."""
    cast = rows.make_cast()
    for title, text in TEXTS.items():
        rows.make_document(cast.workspace, title, text)
    documents = dict.fromkeys((INC, ACME, UNIT, SOU), "organization")
    make_entities(cast.workspace, documents)
    suggest(cast.workspace, ACME, INC, 0.9)
    suggest(cast.workspace, UNIT, SOU, 0.8)
    return cast


def make_entities(workspace: Workspace, kinds: Mapping[str, str]) -> None:
    with access.in_workspace(workspace.pk):
        for name, kind in kinds.items():
            key = normalise_name(name)
            Entity.objects.create(
                id=entity_id(workspace.pk, key), workspace=workspace, key=key, name=name, type=kind
            )
        for chunks in _chunks(workspace):
            for name, kind in kinds.items():
                rows.make_mentions(workspace, chunks, name, kind)


def _chunks(workspace: Workspace) -> list[list[rows.Chunk]]:
    found = rows.Chunk.objects.in_workspace(workspace).order_by("document__title", "ordinal")
    return [[chunk] for chunk in found]


def suggest(workspace: Workspace, one: str, other: str, score: float) -> None:
    left, right = sorted((id_of(workspace, one), id_of(workspace, other)))
    with access.in_workspace(workspace.pk):
        MergeSuggestion.objects.create(
            workspace=workspace,
            left_id=left,
            right_id=right,
            score=score,
            effect=1,
            reason="Same name after removing Inc.; share 4 neighbours",
            reasons=REASONS,
        )


def id_of(workspace: Workspace, name: str) -> uuid.UUID:
    return entity_id(workspace.pk, normalise_name(name))


def decide(
    workspace: Workspace, one: str, other: str, verdict: Verdict, user: User | None = None
) -> ResolutionDecision:
    left, right = sorted(map(normalise_name, (one, other)))
    by = ResolutionDecision.By.PERSON if user else ResolutionDecision.By.MODEL
    with access.in_workspace(workspace.pk):
        return ResolutionDecision.objects.create(
            workspace=workspace,
            left_key=left,
            right_key=right,
            verdict=verdict,
            by=by,
            user=user,
            model="" if user else "judge-1",
        )
