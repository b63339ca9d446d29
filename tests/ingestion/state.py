"""A workspace as rows, to be compared: with what it was, or with one that never had a document."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Model

from ingestion.documents import services
from ingestion.models import (
    Alias,
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Document,
    Entity,
    Evidence,
    Finding,
    Mention,
    Posting,
    Relationship,
    SentenceVector,
    SummaryNode,
)
from workspaces import access
from workspaces.models import Workspace

TEXTS: Mapping[str, str] = {
    "Log": "Ada Lind keeps the light of Skarrow.\n\nBo Strand sells oil to Ada Lind.",
    "Ledger": "Bo Strand sells oil in Wick.\n\nCora Vane buys oil from Bo Strand in Wick.",
    "Lease": "Cora Vane rents the house of Skarrow from Ada Lind.",
}
SEARCHED = (
    Chunk,
    ChunkEmbedding,
    SentenceVector,
    ChunkExtraction,
    Posting,
    Mention,
    Evidence,
    SummaryNode,
)


def read(workspace: Workspace, texts: Mapping[str, str] = TEXTS) -> dict[str, Document]:
    """Documents, added and read to the end; by title."""
    new = [
        services.NewDocument(f"{title}.txt", title, io.BytesIO(text.encode()))
        for title, text in texts.items()
    ]
    with access.in_workspace(workspace.pk):
        documents = services.documents_add(workspace=workspace, documents=new)
    services.process_workspace(workspace=workspace)
    return {document.title: document for document in documents}


def settled(workspace: Workspace) -> None:
    """Let everything follow that waits."""
    services.process_workspace(workspace=workspace)


def numbers(workspace: Workspace, kinds: Sequence[type[Model]] = SEARCHED) -> dict[str, int]:
    with access.in_workspace(workspace.pk):
        return {
            kind.__name__: kind._default_manager.filter(workspace=workspace).count()
            for kind in kinds
        }


def graph(workspace: Workspace) -> dict[str, Any]:
    """Names and figures, without ids: the same for two workspaces of the same documents."""
    with access.in_workspace(workspace.pk):
        entities = Entity.objects.in_workspace(workspace)
        links = Relationship.objects.in_workspace(workspace)
        aliases = Alias.objects.in_workspace(workspace)
        evidence = Evidence.objects.in_workspace(workspace)
        findings = Finding.objects.in_workspace(workspace)
        postings = Posting.objects.in_workspace(workspace)
        return {
            "entities": sorted(
                entities.values_list(
                    "key", "sense", "name", "type", "description", "mention_count", "chunk_count",
                    "degree",
                )
            ),
            "links": sorted(
                links.values_list(
                    "source__key", "target__key", "description", "weight", "evidence_count"
                )
            ),
            "aliases": sorted(aliases.values_list("entity__key", "key", "name")),
            "evidence": sorted(
                evidence.values_list("document__title", "start", "end", "predicate")
            ),
            "findings": sorted(findings.values_list("part", "ordinal", "summary")),
            "words": sorted(postings.values_list("term", "frequency")),
        }  # fmt: skip


def ids(workspace: Workspace) -> dict[str, list[Any]]:
    """Which rows there are, of what keeps its ids when it goes and comes back."""
    with access.in_workspace(workspace.pk):
        return {
            kind.__name__: sorted(
                kind._default_manager.filter(workspace=workspace).values_list("pk")
            )
            for kind in (
                Chunk,
                ChunkEmbedding,
                SentenceVector,
                ChunkExtraction,
                Posting,
                Entity,
                Relationship,
            )
        }
