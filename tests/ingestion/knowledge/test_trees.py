from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from ingestion.knowledge import trees
from ingestion.knowledge.trees import Branch
from ingestion.models import Chunk, Document, SummaryEdge, SummaryNode
from tests import rows
from tests.ingestion.stages.tree.texts import make_document, run
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def log(cast: rows.Cast) -> Document:
    """A document whose tree has two layers."""
    document = make_document(cast.workspace, "Log", 12)
    with access.in_workspace(cast.workspace.pk):
        Chunk.objects.in_workspace(cast.workspace).update(tokens=900)
    run(cast.workspace)
    return document


def everything(branch: Branch | None) -> Iterator[Branch]:
    assert branch
    yield branch
    for below in branch.branches:
        yield from everything(below)


def test_every_node_and_passage_is_shown_once(cast: rows.Cast, log: Document):
    with access.in_workspace(cast.workspace.pk):
        view = trees.tree_view(workspace=cast.workspace, document=log)
        shown = trees.tree_shown(workspace=cast.workspace, document=log)

    found = list(everything(shown))
    assert {one.shown.node.pk for one in found} == {one.node.pk for one in view.nodes}
    assert len(found) == len(view.nodes) > 2
    numbers = sorted(passage.number for one in found for passage in one.passages)
    assert numbers == list(range(1, 13))


def test_a_node_is_shown_below_the_parent_it_belongs_to_most(cast: rows.Cast, log: Document):
    with access.in_workspace(cast.workspace.pk):
        edges = SummaryEdge.objects.in_workspace(cast.workspace)
        first = edges.filter(chunk__isnull=False, parent__document=log).first()
        other = edges.exclude(parent=first.parent).filter(parent__layer=1).first().parent
        SummaryEdge.objects.create(
            workspace=cast.workspace, parent=other, chunk=first.chunk, probability=0.2
        )

        shown = trees.tree_shown(workspace=cast.workspace, document=log)

    chunk_id = first.chunk_id
    homes = [one.shown.node.pk for one in everything(shown)
             if any(passage.id == chunk_id for passage in one.passages)]  # fmt: skip
    assert homes == [first.parent_id]


def test_a_document_without_a_tree_shows_nothing(cast: rows.Cast):
    note = make_document(cast.workspace, "Note", 1)

    with access.in_workspace(cast.workspace.pk):
        assert trees.tree_shown(workspace=cast.workspace, document=note) is None


def test_a_tree_is_read_with_as_many_queries_whatever_its_size(
    cast: rows.Cast, log: Document, django_assert_max_num_queries
):
    with access.in_workspace(cast.workspace.pk), django_assert_max_num_queries(6):
        trees.tree_view(workspace=cast.workspace, document=log)


def test_the_document_s_page_opens_with_its_summary(cast: rows.Cast, log: Document):
    browser = Client()
    browser.force_login(cast.bob, backend="django.contrib.auth.backends.ModelBackend")

    page = browser.get(
        reverse("ingestion:document_detail", args=[cast.workspace.slug, log.pk])
    ).content.decode()

    assert "In short" in page
    assert "Part by part" in page
    assert "Key sentences from this document." in page


def test_a_summary_is_read_without_the_marks_of_its_document(cast: rows.Cast, log: Document):
    written = "- The **Great Lens** of [Skarrow](skarrow.md) <b>is</b> lit."
    with access.in_workspace(cast.workspace.pk):
        nodes = SummaryNode.objects.in_workspace(cast.workspace).filter(document=log)
        number = nodes.update(text=written, written_by="a-model")
    browser = Client()
    browser.force_login(cast.bob, backend="django.contrib.auth.backends.ModelBackend")

    page = browser.get(
        reverse("ingestion:document_detail", args=[cast.workspace.slug, log.pk])
    ).content.decode()

    assert page.count("The Great Lens of Skarrow &lt;b&gt;is&lt;/b&gt; lit.") == number > 2
