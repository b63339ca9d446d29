"""Filters of the open cases: by certainty, type, document and the kind of reason."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ingestion.models import Entity, Mention, MergeSuggestion
from ingestion.resolution.keys import EntityPair
from workspaces.models import Workspace

if TYPE_CHECKING:
    from ingestion.suggestions.cases import Group

REASONS: Final = {
    "name": "Similar names",
    "acronym": "One name is the other's initials",
    "alias": "Called by the same name",
    "called": "A document says so",
    "bracket": "One in brackets after the other",
    "neighbours": "Share neighbours",
    "passages": "Passages about the same subject",
    "types": "Their types differ",
    "together": "A sentence names both",
}
"""Kinds of reasons in words, in the order of the menu."""


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """Which cases to list.

    ``certainty`` is the least one, 0 to 1. One entity of the case must be of the ``type``, and one
    be mentioned in the ``document``; one pair must show a reason of this ``kind``.
    """

    certainty: float = 0
    type: str = ""
    document: uuid.UUID | None = None
    kind: str = ""

    def __bool__(self) -> bool:
        return bool(self.certainty or self.type or self.document or self.kind)


def matching(workspace: Workspace, groups: Sequence[Group], wanted: CaseFilter) -> list[Group]:
    """Those of the groups that match, in their order."""
    found = [group for group in groups if group.certainty >= wanted.certainty]
    if wanted.type:
        rows = Entity.objects.in_workspace(workspace).filter(type=wanted.type)
        found = _having(found, rows.filter(pk__in=_ends(found)).values_list("pk", flat=True))
    if wanted.document:
        named = Mention.objects.in_workspace(workspace).filter(document=wanted.document)
        among = named.filter(entity__in=_ends(found))
        found = _having(found, among.values_list("entity_id", flat=True).distinct())
    if wanted.kind:
        pairs = _pairs_because(workspace, wanted.kind)
        found = [group for group in found if any(one.pair in pairs for one in group.pairs)]
    return found


def _ends(groups: Sequence[Group]) -> list[uuid.UUID]:
    return list({one for group in groups for one in group.entities})


def _having(groups: Sequence[Group], entities: Iterable[uuid.UUID]) -> list[Group]:
    wanted = set(entities)
    return [group for group in groups if not wanted.isdisjoint(group.entities)]


def _pairs_because(workspace: Workspace, kind: str) -> set[EntityPair]:
    rows = MergeSuggestion.objects.in_workspace(workspace)
    having = rows.filter(reasons__contains=[{"kind": kind}])
    return {
        (left, right)
        for left, right, reasons in having.values_list("left_id", "right_id", "reasons")
        if kind in _shown(reasons)
    }


def _shown(reasons: Iterable[dict[str, Any]]) -> set[str]:
    """The kinds that people see: a reason without words only counts."""
    return {one["kind"] for one in reasons if one["words"]}


def types_in(workspace: Workspace, groups: Sequence[Group]) -> list[str]:
    """The types of the entities in these cases."""
    rows = Entity.objects.in_workspace(workspace).filter(pk__in=_ends(groups))
    return sorted(set(rows.values_list("type", flat=True)))


def kinds_in(workspace: Workspace) -> list[tuple[str, str]]:
    """The kinds of reasons that open suggestions show, in words."""
    rows = MergeSuggestion.objects.in_workspace(workspace).filter(state="open")
    kinds: set[str] = set().union(*map(_shown, rows.values_list("reasons", flat=True)))
    return [(kind, words) for kind, words in REASONS.items() if kind in kinds]
