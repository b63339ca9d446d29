"""Updates merge suggestions with what was decided about their entities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from ingestion.models import Entity, ResolutionDecision, Verdict
from ingestion.resolution.overrides import Pair
from ingestion.stages.resolve import pairs
from workspaces.models import Workspace


def show(workspace: Workspace, entities: Sequence[Entity], verdict: Verdict) -> None:
    keys = sorted({entity.key for entity in entities if not entity.sense})
    verdicts = [(pair, verdict.value) for pair in combinations(keys, 2)]
    if verdicts:
        pairs.show_in_suggestions(workspace.pk, verdicts)


def show_standing(workspace: Workspace, said: Iterable[Pair]) -> None:
    """Show what is still decided about pairs after an undo."""
    verdicts = [(pair, standing(workspace, pair)) for pair in said]
    if verdicts:
        pairs.show_in_suggestions(workspace.pk, verdicts)


def standing(workspace: Workspace, pair: Pair) -> str:
    """Return the active verdict on a pair of names: a person's first, then the latest."""
    rows = ResolutionDecision.objects.in_workspace(workspace).filter(
        left_key=pair[0], right_key=pair[1], left_sense=0, right_sense=0, undone_at=None
    )
    verdict = rows.order_by("-by", "-created_at").values_list("verdict", flat=True).first()
    return verdict or Verdict.UNSURE.value
