from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from ingestion.knowledge import spans, summaries
from ingestion.knowledge.summaries import Branch
from ingestion.models import Chunk, Document, DocumentVersion, SummaryEdge, SummaryNode
from kb_project.text.regions import Region, RegionKind, as_json, within
from tests import rows
from tests.ingestion.stages.tree.texts import make_document, run
from workspaces import access

pytestmark = pytest.mark.django_db

MENU = "Home | The lamp of Skarrow | The reef of Skarrow | The keepers of Skarrow."
LEAD = "This handbook explains how the lamp of Skarrow is kept."


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def handbook(cast: rows.Cast) -> Document:
    """A menu, what it is about, and forty paragraphs that go on about it."""
    going_on = [f"In year {1800 + n} the lamp of Skarrow burned {n} barrels." for n in range(40)]
    text = "\n\n".join([MENU, LEAD, *going_on])
    document = rows.make_document(cast.workspace, "Handbook", text)
    regions = [Region(RegionKind.NAVIGATION, 0, len(MENU))]
    with access.in_workspace(cast.workspace.pk):
        DocumentVersion.objects.in_workspace(cast.workspace).update(regions=as_json(regions))
        for chunk in Chunk.objects.in_workspace(cast.workspace):
            chunk.regions = as_json(within(regions, chunk.start, chunk.end))
            chunk.save()
    return document


def in_short(cast: rows.Cast, document: Document) -> list[spans.SourceSpan]:
    with access.in_workspace(cast.workspace.pk):
        version = DocumentVersion.objects.in_workspace(cast.workspace).get(document=document)
        return summaries.in_short(workspace=cast.workspace, version=version, most=2)


def page_of(cast: rows.Cast, document: Document) -> str:
    browser = Client()
    browser.force_login(cast.bob)
    address = reverse("ingestion:document_detail", args=[cast.workspace.slug, document.pk])
    return browser.get(address).content.decode()


def test_a_document_is_told_by_its_own_prose_in_order(cast: rows.Cast, handbook: Document):
    quotes = in_short(cast, handbook)

    assert quotes[0].text == LEAD
    assert len(quotes) == 2
    assert quotes[0].start < quotes[1].start
    assert not any(one.text in MENU for one in quotes)


def test_quotes_know_where_they_stand(cast: rows.Cast, handbook: Document):
    with access.in_workspace(cast.workspace.pk):
        text = DocumentVersion.objects.in_workspace(cast.workspace).get().text

    for one in in_short(cast, handbook):
        assert text[one.start : one.end] == one.text


def test_a_short_document_is_its_own_summary(cast: rows.Cast):
    note = rows.make_document(cast.workspace, "Note", "The lamp burns colza oil. Ada lights it.")

    assert in_short(cast, note) == []
    assert "In short" not in page_of(cast, note)


def test_the_page_opens_with_the_sentences_and_the_way_to_each(cast: rows.Cast, handbook: Document):
    page = page_of(cast, handbook)

    short = page[page.index("In short") : page.index("</section>")]
    assert LEAD in short
    assert "Key sentences from this document." in short
    assert f"start={len(MENU) + 2}" in short


def test_dedications_are_not_quoted(cast: rows.Cast):
    dedication = "The lamp of Skarrow was kept by Ada Lind, and to Ada Lind this lamp is dedicated."
    lines = [f"The lamp of Skarrow burned {n} barrels in {1800 + n}." for n in range(40)]
    text = "\n\n".join([f"Dedication\n{dedication}", "Lamp\n" + lines[0], *lines[1:]])
    document = rows.make_document(cast.workspace, "Handbook", text)
    regions = [Region(RegionKind.HEADING, 0, 10, 1)]
    with access.in_workspace(cast.workspace.pk):
        for chunk in Chunk.objects.in_workspace(cast.workspace):
            chunk.regions = as_json(within(regions, chunk.start, chunk.end))
            chunk.save()

    assert dedication not in [one.text for one in in_short(cast, document)]


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
        nodes = SummaryNode.objects.in_workspace(cast.workspace).filter(document=log)
        ids = set(nodes.values_list("pk", flat=True))
        shown = summaries.tree_shown(workspace=cast.workspace, document=log)

    found = list(everything(shown))
    assert {one.shown.node.pk for one in found} == ids
    assert len(found) == len(ids) > 2
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

        shown = summaries.tree_shown(workspace=cast.workspace, document=log)

    chunk_id = first.chunk_id
    homes = [one.shown.node.pk for one in everything(shown)
             if any(passage.id == chunk_id for passage in one.passages)]  # fmt: skip
    assert homes == [first.parent_id]


def test_a_document_without_a_tree_shows_nothing(cast: rows.Cast):
    note = make_document(cast.workspace, "Note", 1)

    with access.in_workspace(cast.workspace.pk):
        assert summaries.tree_shown(workspace=cast.workspace, document=note) is None


def test_a_tree_is_read_with_as_many_queries_whatever_its_size(
    cast: rows.Cast, log: Document, django_assert_max_num_queries
):
    with access.in_workspace(cast.workspace.pk), django_assert_max_num_queries(6):
        summaries.tree_shown(workspace=cast.workspace, document=log)


def test_the_document_s_page_opens_with_its_summary(cast: rows.Cast, log: Document):
    browser = Client()
    browser.force_login(cast.bob)

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
    browser.force_login(cast.bob)

    page = browser.get(
        reverse("ingestion:document_detail", args=[cast.workspace.slug, log.pk])
    ).content.decode()

    assert page.count("The Great Lens of Skarrow &lt;b&gt;is&lt;/b&gt; lit.") == number > 2
