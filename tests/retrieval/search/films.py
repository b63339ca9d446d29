"""A small graph for tests of modes that read it: a film, its director, and much about others."""

from __future__ import annotations

from dataclasses import dataclass

from ingestion.models import Document, Entity, Relationship
from kb_project.llm.fake import FakeEmbedder
from retrieval.search.query import Query, QuestionVector
from retrieval.search.results import ModeResult, RecordKind
from tests import rows
from workspaces import access
from workspaces.models import Workspace

EMBEDDER = FakeEmbedder()
QUESTION = "Where was the director of Tide Song born?"
TEXTS = {
    "Tide Song": "Tide Song is a film of 1931 made by its director Ada Lind.",
    "Ada Lind": "Ada Lind was born in Strand, where her father kept a shop.",
    "Letters": "In secret letters Ada Lind calls Tide Song a failure. Ada Lind hid in Strand.",
    "Per Holm": "Per Holm was a director born in a town where songs of the tide were sung.",
    "Roads": "The road to the quarry is closed where it meets the shore.",
}
NAMES = {"Tide Song": "work", "Ada Lind": "person", "Per Holm": "person", "Strand": "place"}


class CountingEmbedder(FakeEmbedder):
    """Remembers each question it was asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_question(self, text):
        self.asked.append(text)
        return super().embed_question(text)


@dataclass(frozen=True)
class Films:
    workspace: Workspace
    documents: dict[str, Document]
    song: Entity
    ada: Entity
    strand: Entity
    made: Relationship
    answered: Relationship
    born: Relationship

    def chunk(self, title: str):
        return rows.chunks_of(self.documents[title])[0]

    def query(self, question: str = QUESTION, *, only: tuple[str, ...] = (), **others) -> Query:
        documents = tuple(self.documents[title].pk for title in only) or None
        vector = QuestionVector(EMBEDDER, question)
        return Query(self.workspace.pk, question, 4, vector, documents, **others)


def make_films() -> Films:
    """Ada Lind made Tide Song, which made her known; she was born in Strand."""
    workspace = rows.make_workspace()
    documents = {
        title: rows.make_document(workspace, title, text, names=NAMES, embedder=EMBEDDER)
        for title, text in TEXTS.items()
    }
    song, ada, strand = (
        rows.make_entity(workspace, name) for name in ("Tide Song", "Ada Lind", "Strand")
    )
    film, life, letters = (
        rows.chunks_of(documents[title])[0] for title in ("Tide Song", "Ada Lind", "Letters")
    )
    made = rows.make_relationship(ada, song, film, "made")
    rows.make_relationship(ada, song, letters, "despised")
    answered = rows.make_relationship(song, ada, film, "made known")
    born = rows.make_relationship(ada, strand, life, "was born in")
    describe(ada, "Ada Lind hid in Strand and despised her film.", letters)
    rows.make_snapshot(workspace)
    return Films(workspace, documents, song, ada, strand, made, answered, born)


def describe(entity: Entity, text: str, chunk) -> None:
    """A description that rests on the whole of a passage."""
    with access.in_workspace(entity.workspace_id):
        source = {"chunk": str(chunk.pk), "start": chunk.start, "end": chunk.end}
        Entity.objects.in_workspace(entity.workspace_id).filter(pk=entity.pk).update(
            description=text, description_sources=[source]
        )


def titles(found: ModeResult, kind: RecordKind) -> list[str]:
    return [record.title for record in found.records if record.kind == kind]


def all_text(found: ModeResult) -> str:
    return "\n".join(f"{record.title}\n{record.text}" for record in found.records)
