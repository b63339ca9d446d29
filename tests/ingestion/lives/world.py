"""A small town's papers, and everything people may do with them and with what they speak of.

Work is done here and now, in this thread: stages, refreshes and checks.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from ingestion.curation import entities, merging, relationships, splitting, undoing
from ingestion.curation.splitting import Selection
from ingestion.documents import lifecycle, metadata, services, versions
from ingestion.health import services as health
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Community,
    CommunityMember,
    CommunityReport,
    Document,
    Entity,
    EventKind,
    HistoryEvent,
    IngestionJob,
    Posting,
    Relationship,
    RunState,
    SentenceVector,
)
from ingestion.pipeline import batching, runner
from kb_project.errors import ConflictError, InputError
from tests import rows
from tests.ingestion.curation.ruled import graph_of
from workspaces import access
from workspaces.models import User, Workspace

PAPERS: Final = {
    "log": "Ada Lind keeps the light of Skarrow.\n\nOlaf Brekke rows oil to Skarrow every May.",
    "letter": "Ada Lind wrote to Olaf Brekke.\n\nThe Trust of Orran pays Ada Lind.",
    "minutes": "The Trust of Orran met in Orran.\n\nOlaf Brekke asked for a new boat.",
    "census": "Skarrow has two people. A. Lind and Olaf Brekke live there.",
    "diary": "Mrs Flett sailed to Orran.\n\nAda Lind was away.",
}
REWRITTEN: Final = {
    "log": "Ada Lind keeps the light of Skarrow.\n\nMrs Flett rows oil to Skarrow every May.",
    "letter": "Ada Lind wrote to Mrs Flett.\n\nThe Trust of Orran pays Ada Lind.",
    "minutes": "The Trust of Orran met in Skarrow.\n\nOlaf Brekke asked for a new boat.",
    "census": "Skarrow has three people. A. Lind and Olaf Brekke live there with Bo Strand.",
    "diary": "Mrs Flett sailed to Orran.\n\nAda Lind was away. Bo Strand waited.",
}
REFUSALS: Final = (ConflictError, InputError)
PASSAGE: Final = {"strategy": "sentence", "size": 12}


class World:
    """One workspace and the people who change it. A refused change changes nothing."""

    def __init__(self, workspace: Workspace, people: Sequence[User]) -> None:
        self.workspace = workspace
        self.people = list(people)
        self.done = 0

    # --- what people do -------------------------------------------------------------------------
    def change(self, **more: Any) -> ChangeContext:
        self.done += 1
        return ChangeContext(self.workspace, self.people[self.done % len(self.people)], **more)

    def add(self, name: str) -> None:
        with access.in_workspace(self.workspace.pk):
            services.document_upload(
                workspace=self.workspace,
                file=io.BytesIO(PAPERS[name].encode()),
                name=f"{name}.txt",
                user=self.people[0],
                filing=services.Filing(chunking=PASSAGE),
            )

    def replace(self, document: Document) -> None:
        name = document.name.removesuffix(".txt")
        for text in (REWRITTEN[name], PAPERS[name]):
            with suppress(ConflictError):
                file = io.BytesIO(text.encode())
                self.scoped(
                    versions.document_replace,
                    change=self.change(), document=document, file=file, name=document.name,
                )  # fmt: skip
                return

    def retitle(self, document: Document, title: str) -> None:
        self.scoped(metadata.document_edit, change=self.change(), document=document, title=title)

    def live(self, action: str, *documents: Document) -> None:
        service = getattr(lifecycle, f"documents_{action}")
        self.scoped(service, change=self.change(), documents=list(documents))

    def merge(self, kept: Entity, *others: Entity) -> None:
        self.scoped(merging.entities_merge, change=self.change(), kept=kept, others=list(others))

    def split(self, entity: Entity, document: Document, name: str) -> None:
        chosen = Selection(documents=(document.pk,))
        self.scoped(
            splitting.entity_split,
            change=self.change(), entity=entity, selection=chosen, name=name, type=entity.type,
        )  # fmt: skip

    def move(self, entity: Entity, document: Document, target: Entity) -> None:
        chosen = Selection(documents=(document.pk,))
        self.scoped(
            splitting.mentions_move,
            change=self.change(), entity=entity, selection=chosen, target=target,
        )  # fmt: skip

    def differ(self, one: Entity, other: Entity) -> None:
        self.scoped(merging.entities_differ, change=self.change(), entities=[one, other])

    def edit(self, entity: Entity, **said: Any) -> None:
        self.scoped(entities.entity_edit, change=self.change(), entity=entity, **said)

    def create(self, name: str) -> None:
        self.scoped(
            entities.entity_create,
            change=self.change(), name=name, type="person", description="Known in town.",
        )  # fmt: skip

    def delete(self, entity: Entity) -> None:
        self.scoped(entities.entity_delete, change=self.change(), entity=entity)

    def link(self, source: Entity, target: Entity) -> None:
        self.scoped(
            relationships.relationship_create,
            change=self.change(), source=source, target=target, description="They are cousins.",
        )  # fmt: skip

    def unlink(self, relationship: Relationship) -> None:
        service = relationships.relationship_delete
        self.scoped(service, change=self.change(), relationship=relationship)

    def undo(self, event: HistoryEvent) -> None:
        self.scoped(undoing.event_undo, change=self.change(), event=event)

    def scoped(self, service: Callable[..., Any], **given: Any) -> Any:
        with access.in_workspace(self.workspace.pk):
            return service(**given)

    # --- what is there --------------------------------------------------------------------------
    def all(self, model: Any, *order: str, **wanted: Any) -> list[Any]:
        with access.in_workspace(self.workspace.pk):
            return list(
                model.objects.in_workspace(self.workspace).filter(**wanted).order_by(*order)
            )

    def entities(self) -> list[Entity]:
        return self.all(Entity, "key", "sense")

    def documents(self, **wanted: Any) -> list[Document]:
        return self.all(Document, "name", **wanted)

    def standing(self) -> list[HistoryEvent]:
        """What may still be taken back, latest first."""
        rows = self.all(HistoryEvent, "-sequence", undone_at=None)
        return [row for row in rows if row.kind != EventKind.UNDO]

    def entity(self, key: str) -> Entity:
        return next(one for one in self.entities() if one.key == key)

    def document(self, name: str) -> Document:
        return next(one for one in self.documents() if one.name == f"{name}.txt")

    # --- what follows ---------------------------------------------------------------------------
    def work(self) -> None:
        """Do all that waits."""
        while any(self._lane(lane) for lane in runner.LANES):
            pass
        unfinished = [RunState.PENDING, RunState.RUNNING, RunState.FAILED, RunState.PAUSED]
        left = self.all(IngestionJob, "created_at", state__in=unfinished)
        assert left == [], [(job.kind, job.state, job.problem) for job in left]

    def _lane(self, lane: str) -> bool:
        has_worked = False
        while jobs := batching.next_group(self.workspace.pk, lane):
            if not runner.run_group(jobs, lane).begun:
                break
            has_worked = True
        return has_worked

    def check(self) -> None:
        """Everything is as it follows from documents and rulings, and nothing waits."""
        report = health.check(self.workspace.pk, is_deep=True)
        assert report.is_sound, str(report)
        assert report.is_settled, [one.sentence for one in report.waiting]

    def state(self) -> dict[str, Any]:
        """All that people and searches see, and which reports want to be written anew."""
        with access.in_workspace(self.workspace.pk):
            chunks = Chunk.objects.in_workspace(self.workspace)
            return {
                **graph_of(self.workspace),
                "chunks": _sorted(chunks.values_list("pk", "ordinal", "start", "end", "context")),
                "postings": _sorted(self._rows(Posting, "term", "chunk_id", "frequency")),
                "vectors": _sorted(self._rows(ChunkEmbedding, "chunk_id", "fingerprint")),
                "sentences": _sorted(self._rows(SentenceVector, "chunk_id", "start", "end")),
                "topics": self._topics(),
                "dirty": list(self._rows(Community, "pk").filter(is_changed=True)),
                "documents": _sorted(
                    self._rows(Document, "pk", "title", "live_number", "state").filter(
                        trashed_at=None, disabled_at=None
                    )
                ),
            }

    def _topics(self) -> list[tuple[str, tuple[UUID, ...]]]:
        """Reports with the members they are about: a topic's own id may be another."""
        members: dict[UUID, list[UUID]] = {}
        for community, entity in self._rows(CommunityMember, "community_id", "entity_id"):
            members.setdefault(community, []).append(entity)
        reports = self._rows(CommunityReport, "community_id", "title", "summary")
        return sorted(
            (f"{title}: {summary}", tuple(sorted(members.get(community, ()))))
            for community, title, summary in reports
        )

    def _rows(self, model: Any, *fields: str) -> Any:
        return model.objects.in_workspace(self.workspace).values_list(*fields)


def _sorted(found: Any) -> list[str]:
    return sorted(map(str, found))


def make_world(name: str = "Town", papers: Sequence[str] = ("log", "letter", "minutes")) -> World:
    cast = rows.make_cast(name)
    world = World(cast.workspace, [cast.alice, cast.bob])
    for paper in papers:
        world.add(paper)
    world.work()
    return world
