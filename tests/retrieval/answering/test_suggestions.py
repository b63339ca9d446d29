from __future__ import annotations

import pytest
from django.urls import reverse

from ingestion.models import Posting
from kb_project.ports import build_ports
from kb_project.text.regions import Region, RegionKind, as_json
from retrieval.answering import suggestions
from tests import rows
from tests.retrieval.answering.asked import set_version
from tests.retrieval.pages import client_of, page_of
from tests.rows import Cast
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

NAMES = {"Ada Lind": "person", "Skarrow Light": "place", "Bram Oost": "person"}
TEXT = (
    "Ada Lind kept Skarrow Light.\n\n"
    "Skarrow Light was built in 1860 by Bram Oost, who had come from Thirle.\n\n"
    "She was often cold."
)
FAQ = "How do I visit Skarrow Light?\n\nA boat to Skarrow Light leaves on Fridays. Visit it in May."


@pytest.fixture
def cast(fake_embedder) -> Cast:
    cast = rows.make_cast()
    embedder = build_ports().embedder
    rows.make_document(cast.workspace, "Keepers", TEXT, names=NAMES, embedder=embedder)
    return cast


def add_faq(cast: Cast) -> None:
    document = rows.make_document(
        cast.workspace,
        "FAQ",
        FAQ,
        spans=[(0, len(FAQ))],
        names=NAMES,
        embedder=build_ports().embedder,
    )
    heading = Region(RegionKind.HEADING, 0, FAQ.index("\n"), 1)
    for chunk in rows.chunks_of(document):
        chunk.regions = as_json([heading])
        with access.in_workspace(cast.workspace.pk):
            chunk.save()


def starters(workspace: Workspace) -> list[str]:
    return suggestions.make_starters(workspace)


def remembered(workspace: Workspace) -> list[str] | None:
    with access.in_workspace(workspace.pk):
        return suggestions.starters(workspace=workspace)


def test_a_conversation_begins_with_what_the_documents_state(cast):
    found = starters(cast.workspace)

    assert sorted(found) == ["When was Skarrow Light built?", "Who kept Skarrow Light?"]


def test_each_document_has_its_turn(cast):
    add_faq(cast)

    assert "How do I visit Skarrow Light?" in starters(cast.workspace)[:2]


def test_only_what_is_answered_is_offered(cast):
    with access.in_workspace(cast.workspace.pk):  # the passages stay, but nothing finds them
        Posting.objects.in_workspace(cast.workspace).delete()

    assert starters(cast.workspace) == []


def test_documents_of_another_workspace_give_nothing(cast):
    assert starters(rows.make_workspace("Elsewhere")) == []


def test_what_was_found_is_remembered_until_the_documents_change(cast):
    set_version(cast, 1)
    assert remembered(cast.workspace) is None

    found = starters(cast.workspace)

    assert remembered(cast.workspace) == found
    set_version(cast, 2)
    assert remembered(cast.workspace) is None


# --- the page -------------------------------------------------------------------------------------
def test_a_page_asks_for_questions_that_are_still_to_be_found_out(cast):
    fragment = reverse("retrieval:starters", args=[cast.workspace.slug])
    page = page_of(cast.bob, "ask", cast)
    assert f'hx-get="{fragment}"' in page

    shown = client_of(cast.bob).get(fragment).content.decode()

    assert "Who kept Skarrow Light?" in shown
    assert "Who kept Skarrow Light?" in page_of(cast.bob, "ask", cast)


@pytest.mark.parametrize(("who", "status"), [("alice", 200), ("bob", 200), ("charlie", 404)])
def test_questions_to_begin_with_are_for_members(cast, who, status):
    fragment = reverse("retrieval:starters", args=[cast.workspace.slug])

    assert client_of(getattr(cast, who)).get(fragment).status_code == status
