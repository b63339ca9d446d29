from __future__ import annotations

import pytest

from ingestion.models import Chunk, ChunkEmbedding, Evidence, FindingEvidence, Mention, Posting
from kb_project.llm.fake import FakeEmbedder
from tests import rows
from workspaces import access
from workspaces.models import Capability, Membership

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nThe light burns oil that Ada Lind buys."


def test_the_cast_is_an_owner_a_reader_and_a_stranger():
    cast = rows.make_cast()

    with access.in_workspace(cast.workspace.pk):
        members = {m.user: m for m in Membership.objects.in_workspace(cast.workspace)}

    assert members[cast.alice].may(Capability.OWN)
    assert not members[cast.bob].may(Capability.EDIT)
    assert cast.charlie not in members


def test_chunks_are_the_paragraphs_and_cut_their_text_out_of_the_document():
    workspace = rows.make_workspace()

    document = rows.make_document(workspace, "Keepers", TEXT)

    chunks = rows.chunks_of(document)
    assert [chunk.text for chunk in chunks] == TEXT.split("\n\n")
    assert all(TEXT[chunk.start : chunk.end] == chunk.text for chunk in chunks)


def test_a_document_comes_with_words_vectors_and_mentions():
    workspace = rows.make_workspace()

    rows.make_document(
        workspace, "Keepers", TEXT, embedder=FakeEmbedder(), names={"Ada Lind": "PERSON"}
    )

    with access.in_workspace(workspace.pk):
        assert Chunk.objects.in_workspace(workspace).count() == 2
        assert ChunkEmbedding.objects.in_workspace(workspace).count() == 2
        assert Posting.objects.in_workspace(workspace).filter(term="light").count() == 2
        mentions = list(Mention.objects.in_workspace(workspace))
    assert [TEXT[m.start : m.end] for m in mentions] == ["Ada Lind", "Ada Lind"]


def test_relationships_and_reports_know_the_chunk_they_rest_on():
    workspace = rows.make_workspace()
    document = rows.make_document(workspace, "Keepers", TEXT, names={"Ada Lind": "PERSON"})
    chunk = rows.chunks_of(document)[0]
    ada = rows.make_entity(workspace, "Ada Lind")
    light = rows.make_entity(workspace, "Light", "FAC")

    rows.make_relationship(ada, light, chunk, "keeps")
    rows.make_report(workspace, "The light", [ada, light], [chunk])

    with access.in_workspace(workspace.pk):
        assert Evidence.objects.in_workspace(workspace).get().chunk_id == chunk.pk
        assert FindingEvidence.objects.in_workspace(workspace).get().chunk_id == chunk.pk
