"""A trust whose directors follow each other: what documents state with a date, and without."""

from __future__ import annotations

from dataclasses import dataclass

from ingestion.extractors.extraction import STATED, Extraction, FoundMention, FoundRelation
from ingestion.models import ChunkExtraction, Document, DocumentVersion
from ingestion.stages.describe.recompute import recompute_rows
from ingestion.stages.resolve.applying import resolve_documents
from kb_project.ports import build_ports
from tests import rows
from workspaces import access
from workspaces.models import Workspace

KINDS = {
    "Ada Lind": "person",
    "Bram Oost": "person",
    "Cy Reef": "person",
    "Harbour Trust": "organization",
    "Skarrow": "place",
}


@dataclass(frozen=True)
class Stated:
    """A document of one sentence, with the fact it states."""

    title: str
    text: str
    fact: tuple[str, str, str]


ADA = Stated(
    "Ada's years",
    "Ada Lind was director of Harbour Trust from 1902 to May 1911.",
    ("Ada Lind", "was director of", "Harbour Trust"),
)
BRAM = Stated(
    "Bram's years",
    "Bram Oost became director of Harbour Trust in June 1911.",
    ("Bram Oost", "became director of", "Harbour Trust"),
)
SEAT = Stated(
    "The seat",
    "Harbour Trust is next to Skarrow, whoever is director.",
    ("Harbour Trust", "is next to", "Skarrow"),
)


def extraction_of(text: str, *facts: tuple[str, str, str]) -> Extraction:
    """What a text states, with its names wherever they first occur."""
    named = sorted((text.index(name), name, KINDS[name]) for name in KINDS if name in text)
    places = {name: place for place, (_, name, _) in enumerate(named)}
    return Extraction(
        tuple(FoundMention(at, at + len(name), name, kind, "ner") for at, name, kind in named),
        tuple(
            FoundRelation(places[source], places[target], predicate, 0, len(text), STATED, 1.0)
            for source, predicate, target in facts
        ),
    )


def state(workspace: Workspace, *papers: Stated) -> list[Document]:
    """Documents that are searched, with the facts they state."""
    documents = []
    for paper in papers:
        embedder = build_ports().embedder
        document = rows.make_document(workspace, paper.title, paper.text, embedder=embedder)
        [chunk] = rows.chunks_of(document)
        with access.in_workspace(workspace.pk):
            payload = extraction_of(paper.text, paper.fact).as_json()
            ChunkExtraction.objects.create(
                workspace=workspace, chunk=chunk, method="m", payload=payload
            )
        documents.append(document)
    resolve_again(workspace, documents)
    return documents


def resolve_again(workspace: Workspace, documents: list[Document]) -> None:
    with access.in_workspace(workspace.pk):
        found = DocumentVersion.objects.in_workspace(workspace).filter(document__in=documents)
        versions = dict(found.values_list("document_id", "pk"))
    resolve_documents(workspace.pk, versions)
    with access.in_workspace(workspace.pk):
        recompute_rows(workspace.pk)
