"""A workspace whose papers name a few people and places, and the hands that curate it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ingestion.curation.merging import entities_merge
from ingestion.curation.splitting import Selection, entity_split
from ingestion.history.recording import ChangeContext
from ingestion.models import Alias, Document, Entity, HistoryEvent, Mention, Relationship
from ingestion.resolution.keys import entity_id
from ingestion.stages.describe.recompute import recompute_rows
from tests import rows
from tests.ingestion.stages.resolve.said import Said, all_of, paper, run
from workspaces import access
from workspaces.models import User, Workspace

# Names with their kinds, and links by their places.
SAID = {
    "a": Said([("Acme Inc", "organization"), ("Ada Lind", "person")], links=[(0, 1, "employs")]),
    "b": Said(
        [("Acme Ltd", "organization"), ("Ada Lind", "person"), ("Orran", "place")],
        links=[(0, 1, "employs"), (0, 2, "sits in")],
    ),
    "c": Said([("Acme Ltd", "organization"), ("Acme Inc", "organization")], links=[(0, 1, "owns")]),
    "d": Said([("Mercury", "product"), ("Acme Ltd", "organization")], links=[(1, 0, "makes")]),
    "e": Said([("Mercury", "product"), ("Orran", "place")], links=[(1, 0, "sees")]),
}


class Desk:
    """A workspace with papers, and somebody who curates it."""

    def __init__(self, cast: rows.Cast, papers: str = "abcde") -> None:
        self.cast = cast
        self.workspace: Workspace = cast.workspace
        run(*(paper(self.workspace, name, SAID[name]) for name in papers))
        with access.in_workspace(self.workspace.pk):
            recompute_rows(self.workspace.pk)

    def change(self, user: User | None = None, **more: Any) -> ChangeContext:
        return ChangeContext(self.workspace, user or self.cast.alice, **more)

    def id(self, key: str, sense: int = 0) -> UUID:
        return entity_id(self.workspace.pk, key, sense)

    def entity(self, key: str, sense: int = 0) -> Entity:
        with access.in_workspace(self.workspace.pk):
            return Entity.objects.in_workspace(self.workspace).get(key=key, sense=sense)

    def document(self, name: str) -> Document:
        with access.in_workspace(self.workspace.pk):
            return Document.objects.in_workspace(self.workspace).get(name=f"{name}.txt")

    def link(self, source: str, target: str) -> Relationship:
        with access.in_workspace(self.workspace.pk):
            return Relationship.objects.in_workspace(self.workspace).get(
                source__key=source, target__key=target
            )

    def names(self) -> list[str]:
        found = all_of(self.workspace, Entity, "key", "sense")
        return [f"{key}/{sense}" if sense else key for key, sense in found]

    def mentions(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for key, sense in all_of(self.workspace, Mention, "entity__key", "entity__sense"):
            name = f"{key}/{sense}" if sense else key
            found[name] = found.get(name, 0) + 1
        return found

    def links(self) -> list[str]:
        found = all_of(
            self.workspace, Relationship, "source__key", "source__sense", "target__key",
            "target__sense",
        )  # fmt: skip
        return [
            " > ".join(f"{key}/{sense}" if sense else key for key, sense in (row[:2], row[2:]))
            for row in found
        ]

    def events(self) -> list[HistoryEvent]:
        """What was done to entities, the first first."""
        with access.in_workspace(self.workspace.pk):
            found = HistoryEvent.objects.in_workspace(self.workspace)
            return list(found.exclude(kind__startswith="document").order_by("sequence"))

    def state(self) -> Any:
        """All that curation changes: taking everything back gives it again."""
        fields = ("id", "key", "sense", "name", "type", "description", "is_made", "is_protected")
        return (
            all_of(self.workspace, Entity, *fields),
            all_of(self.workspace, Alias, "entity_id", "name"),
            self.mentions(),
            self.links(),
        )


def merged(desk: Desk, kept: str, *others: str, batch: UUID | None = None) -> HistoryEvent:
    return entities_merge(
        change=desk.change(batch=batch), kept=desk.id(kept), others=[desk.id(one) for one in others]
    )


def split(desk: Desk, key: str, document: str, name: str) -> HistoryEvent:
    chosen = Selection(documents=(desk.document(document).pk,))
    return entity_split(change=desk.change(), entity=desk.id(key), selection=chosen, name=name)
