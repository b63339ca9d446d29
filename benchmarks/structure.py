"""Measure the stage that finds what stands out in topics, what joins them, and what stands alone.

    python benchmarks/structure.py [--entities 5000 50000] [--betweenness]

The script fills a workspace with random entities, three relationships each, whose evidence is
spread over documents, and runs the stage twice: on a new graph, and on one that has not changed.
With ``--betweenness`` it also times networkx's betweenness from one source, which tells how long a
sample of any size would take.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import time
import uuid
from pathlib import Path
from typing import Any, Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

import networkx

from benchmarks.explorer import BATCH, fill
from ingestion.models import (
    Chunk,
    Document,
    DocumentVersion,
    Evidence,
    IngestionJob,
    JobKind,
    Mention,
    Relationship,
)
from ingestion.stage import NO_PROGRESS
from ingestion.stages import communities, structure
from kb_project.ports import build_ports
from kb_project.sql import run_sql
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.models import User, Workspace
from workspaces.people import services as people_services

RELATIONSHIPS_OF_DOCUMENT: Final = 50


def spread(workspace: Workspace) -> None:
    """Give each relationship evidence in a document, and its ends mentions there."""
    chance = random.Random(7)
    links = list(
        Relationship.objects.in_workspace(workspace).values_list("pk", "source_id", "target_id")
    )
    count = max(1, len(links) // RELATIONSHIPS_OF_DOCUMENT)
    shared = {"workspace": workspace}
    documents = [
        Document(**shared, title=f"Document {one}", name=f"{one}.txt", size=1, sha256=f"{one:064}")
        for one in range(count)
    ]
    Document.objects.bulk_create(documents, batch_size=BATCH)
    versions = [DocumentVersion(**shared, document=one, blob="none") for one in documents]
    DocumentVersion.objects.bulk_create(versions, batch_size=BATCH)
    chunks = [
        Chunk(**shared, document=one.document, version=one, ordinal=0, start=0, end=9, text="Text.",
              tokens=2)
        for one in versions
    ]  # fmt: skip
    Chunk.objects.bulk_create(chunks, batch_size=BATCH)
    evidence, named = [], set()
    for link, source, target in links:
        chunk = chance.choice(chunks)
        place = {"chunk": chunk, "document_id": chunk.document_id, "start": 0, "end": 5}
        kind = chance.choice(Evidence.Kind.values)
        evidence.append(Evidence(**shared, **place, relationship_id=link, kind=kind))
        named |= {(source, chunk), (target, chunk)}
    Evidence.objects.bulk_create(evidence, batch_size=BATCH)
    Mention.objects.bulk_create(
        (
            Mention(**shared, entity_id=entity, chunk=chunk, document_id=chunk.document_id, start=0,
                    end=5, surface="Name", type="person", source="ner")
            for entity, chunk in named
        ),
        batch_size=BATCH,
    )  # fmt: skip
    run_sql("ANALYZE ingestion_evidence, ingestion_mention, ingestion_communitymember")


def one_source(workspace: Workspace) -> float:
    graph: networkx.Graph[Any] = networkx.Graph()
    with access.in_workspace(workspace.pk):
        rows = Relationship.objects.in_workspace(workspace)
        graph.add_edges_from(rows.values_list("source_id", "target_id"))
    started = time.perf_counter()
    networkx.betweenness_centrality(graph, k=1, seed=7)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, nargs="*", default=[5_000, 50_000])
    parser.add_argument("--betweenness", action="store_true")
    given = parser.parse_args()
    for count in given.entities:
        name = f"structure-{uuid.uuid4().hex[:8]}"
        user = User.objects.create_user(f"{name}@example.org", uuid.uuid4().hex)
        workspace = people_services.workspace_create(name=name, slug=name, owner=user)
        try:
            fill(workspace, count)
            with access.in_workspace(workspace.pk):
                spread(workspace)
                links = Relationship.objects.in_workspace(workspace).count()
            job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
            communities.run(job, build_ports(), NO_PROGRESS)
            print(f"{count:,} entities, {links:,} relationships")
            for label in ("new graph", "unchanged"):
                started = time.perf_counter()
                written = structure.renew(workspace.pk)
                print(f"  {label:10} {time.perf_counter() - started:6.2f} s, {written:,} rows")
            if given.betweenness:
                print(f"  betweenness from one source {one_source(workspace):.1f} s")
        finally:
            workspace_purge(workspace_id=workspace.pk)
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
