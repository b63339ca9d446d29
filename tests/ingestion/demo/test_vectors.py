"""The vectors that come with the demo: everything embedded at its first start, and right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from ingestion.documents import services
from ingestion.management.commands.loaddemo import DOCUMENTS
from kb_project import ports
from kb_project.llm.embedders import KnownVectors, LocalEmbedder, RecordingEmbedder
from kb_project.llm.ports import Vectors
from tests import rows
from workspaces import access


class Missed:
    """The local model, which remembers what it was asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.model = LocalEmbedder()
        self.fingerprint, self.dimension = self.model.fingerprint, self.model.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return self.model.embed_passages(texts)

    def embed_question(self, text: str) -> Vectors:
        return self.model.embed_question(text)


@pytest.mark.django_db(transaction=True)
def test_nothing_of_the_demo_is_embedded_at_its_first_start(media: object, monkeypatch):
    missed = Missed()
    known = KnownVectors(missed, settings.DEMO_VECTORS)
    ports.build_ports.cache_clear()
    monkeypatch.setattr(ports, "embedder_named", lambda _name, threads=0: known)
    workspace = rows.make_workspace()

    for path in sorted(DOCUMENTS.iterdir()):
        with path.open("rb") as file, access.in_workspace(workspace.pk):
            services.document_upload(workspace=workspace, file=file, name=path.name)
    services.process_workspace(workspace=workspace)
    ports.build_ports.cache_clear()

    # Otherwise: .venv/bin/python benchmarks/make_demo_vectors.py
    assert missed.texts == []


def test_what_is_known_is_what_the_model_says(tmp_path: Path):
    texts = ["Ada keeps the light.", "Bo sells oil.", "The boat comes on Fridays."]
    model = Missed()
    recorder = RecordingEmbedder(model)
    made = recorder.embed_passages(texts[:2])
    assert recorder.save(tmp_path / "known.npz") == 2
    model.texts = []

    known = KnownVectors(model, tmp_path / "known.npz").embed_passages(texts)

    assert model.texts == texts[2:]
    assert np.allclose(known[:2], made, atol=0.001)
    assert np.allclose(np.linalg.norm(known, axis=1), 1, atol=0.001)


@pytest.mark.parametrize("content", [None, b"", b"no archive", b"PK\x03\x04 torn"])
def test_a_file_that_cannot_be_read_counts_as_empty(tmp_path: Path, content: bytes | None):
    path = tmp_path / "known.npz"
    if content is not None:
        path.write_bytes(content)
    model = Missed()

    vectors = KnownVectors(model, path).embed_passages(["Ada keeps the light."])

    assert model.texts == ["Ada keeps the light."]
    assert vectors.shape == (1, model.dimension)


def test_the_file_of_another_model_counts_as_empty(tmp_path: Path):
    recorder = RecordingEmbedder(Missed())
    recorder.embed_passages(["Ada keeps the light."])
    recorder.save(tmp_path / "known.npz")
    model = Missed()
    model.fingerprint = "another"

    KnownVectors(model, tmp_path / "known.npz").embed_passages(["Ada keeps the light."])

    assert model.texts == ["Ada keeps the light."]
