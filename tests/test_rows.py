from __future__ import annotations

from itertools import chain

import pytest
from django.apps import apps
from django.test import Client

from ingestion.models import Chunk, ChunkEmbedding, Evidence, FindingEvidence, Mention, Posting
from kb_project.llm.fake import FakeEmbedder
from tests import rows
from tests.api import sign_in
from workspaces import access
from workspaces.models import Capability, Membership, Role, TenantModel, Workspace
from workspaces.people import services

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nThe light burns oil that Ada Lind buys."


def test_the_cast_is_an_owner_a_reader_and_a_stranger():
    cast = rows.make_cast()

    with access.in_workspace(cast.workspace.pk):
        members = {m.user: m for m in Membership.objects.in_workspace(cast.workspace)}

    assert members[cast.alice].may(Capability.OWN)
    assert not members[cast.bob].may(Capability.EDIT)
    assert cast.charlie not in members


def test_a_workspace_is_what_the_services_make():
    alice, bob = rows.make_user("Alice"), rows.make_user("Bob")
    by_services = services.workspace_create(name="Harbour", owner=alice)
    services.member_add(workspace=by_services, user=bob, role=Role.VIEWER)

    cast = rows.make_cast()

    assert (cast.alice, cast.bob) == (alice, bob)
    assert by_services.slug == "harbour"
    assert cast.workspace.slug == "harbour-2"
    assert stored(cast.workspace) == stored(by_services)
    assert stored(rows.make_workspace("Pier")) == stored(
        services.workspace_create(name="Pier", owner=None)
    )


def test_a_client_is_signed_in_as_django_does_it():
    alice = rows.make_user("Alice")
    by_django, ours = Client(), Client()
    by_django.force_login(alice)

    sign_in(ours, alice)

    assert dict(ours.session) == dict(by_django.session)
    assert ours.session.session_key != by_django.session.session_key
    assert ours.get("/").context["user"] == alice


def stored(workspace: Workspace) -> list[str]:
    """The rows of a workspace in all tables, without what no two workspaces have in common."""
    own = {"id", "workspace_id", "slug", "created_at"}
    tables = [model for model in apps.get_models() if issubclass(model, TenantModel)]
    with access.in_workspace(workspace.pk):
        found = [model.objects.in_workspace(workspace).values() for model in tables]
        stored_rows = list(chain(Workspace.objects.filter(pk=workspace.pk).values(), *found))
    return sorted(
        str({name: value for name, value in row.items() if name not in own}) for row in stored_rows
    )


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
