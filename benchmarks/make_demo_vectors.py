"""Make ``ingestion/demo/vectors.npz``: the vectors of everything in the demo that is embedded.

Run it after a change of the demo's documents, of chunking, or of what is embedded of a document:

    .venv/bin/python benchmarks/make_demo_vectors.py

It loads the demo into a workspace of its own, on the database of ``CONCORDANCE_DATA_DIR``, with
the model inside, and deletes the workspace again. What the file lacks is embedded at the first
start, which then takes longer; ``tests/ingestion/demo/test_vectors.py`` fails as soon as it lacks
anything.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
django.setup()

from django.conf import settings

from ingestion.documents import services
from ingestion.management.commands.loaddemo import DOCUMENTS
from kb_project import ports
from kb_project.commands import ensure_migrated
from kb_project.llm.embedders import LocalEmbedder, RecordingEmbedder
from retrieval.evaluation import dataset
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.people.services import workspace_create


def main() -> None:
    ensure_migrated(print)
    recorder = RecordingEmbedder(LocalEmbedder())
    ports.embedder_named = lambda _name, threads=0: recorder
    workspace = workspace_create(name=f"{dataset.NAMED} demo vectors", owner=None)
    try:
        for path in sorted(DOCUMENTS.iterdir()):
            with path.open("rb") as file, access.in_workspace(workspace.pk):
                services.document_upload(workspace=workspace, file=file, name=path.name)
        services.process_workspace(workspace=workspace)
    finally:
        workspace_purge(workspace.pk)
    print(f"{recorder.save(settings.DEMO_VECTORS)} vectors in {settings.DEMO_VECTORS}")


if __name__ == "__main__":
    main()
