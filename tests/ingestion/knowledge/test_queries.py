from __future__ import annotations

import uuid
from typing import Any

import pytest

from ingestion.documents import queries as document_queries
from ingestion.knowledge import queries as knowledge_queries, spans, topics
from ingestion.knowledge.queries import EntityView
from ingestion.knowledge.topics import TopicView
from ingestion.models import Chunk, Community, CommunityReport, Document, Entity, Evidence
from ingestion.models.communities import other_topics_id
from ingestion.stages.describe.recompute import recompute_rows
from kb_project.errors import NotFoundError
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nBo Strand sells oil to Ada Lind."
NAMES = {"Ada Lind": "person", "Bo Strand": "person", "light": "product"}


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


@pytest.fixture
def document(workspace: Workspace) -> Document:
    return rows.make_document(workspace, "Keepers", TEXT, names=NAMES)


def names(workspace: Workspace, **filters: Any) -> list[str]:
    with access.in_workspace(workspace.pk):
        return [row.name for row in knowledge_queries.entities(workspace=workspace, **filters)]


def view(workspace: Workspace, name: str, **options: Any) -> EntityView:
    entity = rows.make_entity(workspace, name)
    with access.in_workspace(workspace.pk):
        return knowledge_queries.entity_view(workspace=workspace, entity_id=entity.pk, **options)


# --- lists ----------------------------------------------------------------------------------------
@pytest.fixture
def terms(workspace: Workspace) -> None:
    """Terms that the describe stage counted: one that recurs, one that does not, a heading's."""
    rows.make_document(
        workspace,
        "Oil",
        "lamp oil burns.\n\nlamp oil smokes. A broken voice spoke. The wick trimming begins.",
        names={"lamp oil": "concept", "broken voice": "concept", "wick trimming": "concept"},
    )
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(document__title="Oil", ordinal=1).update(
            heading_path=["Oil", "Wick Trimming"]
        )
        others = Entity.objects.in_workspace(workspace).exclude(type="concept")
        others.update(is_changed=False)
        recompute_rows(workspace.pk)


def test_terms_are_listed_only_when_asked_for(
    workspace: Workspace, document: Document, terms: None
):
    assert names(workspace) == ["Ada Lind", "Bo Strand", "light"]
    assert names(workspace, text="oil") == ["lamp oil"]
    assert set(names(workspace, type_name="concept")) == {"lamp oil", "wick trimming"}


def test_the_number_of_terms_left_out_is_known(
    workspace: Workspace, document: Document, terms: None
):
    with access.in_workspace(workspace.pk):
        assert knowledge_queries.terms_count(workspace=workspace) == 2
        assert dict(knowledge_queries.entity_types(workspace=workspace))["concept"] == 2


def test_a_concept_that_a_person_or_a_model_speaks_of_is_no_term(
    workspace: Workspace, document: Document, terms: None
):
    with access.in_workspace(workspace.pk):
        rows_of = Entity.objects.in_workspace(workspace)
        rows_of.filter(key="lamp oil").update(is_confirmed=True)
        rows_of.filter(key="broken voice").update(written_by="joined")

    assert {"lamp oil", "broken voice"} <= set(names(workspace))


def test_a_documents_page_names_no_terms(workspace: Workspace, terms: None):
    with access.in_workspace(workspace.pk):
        document = Document.objects.in_workspace(workspace).get(title="Oil")
        assert document_queries.entities_in(workspace=workspace, document=document) == []


def test_who_is_mentioned_most_comes_first(workspace: Workspace, document: Document):
    assert names(workspace) == ["Ada Lind", "Bo Strand", "light"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"text": "STRAND"}, ["Bo Strand"]),
        ({"text": "keeper"}, ["Ada Lind"]),
        ({"type_name": "product"}, ["light"]),
        ({"type_name": "person", "text": "light"}, []),
    ],
)
def test_names_aliases_and_types_narrow_the_list(
    workspace: Workspace, document: Document, filters: dict[str, str], expected: list[str]
):
    rows.make_entity(workspace, "Ada Lind", aliases=["the keeper", "old keeper"])

    assert names(workspace, **filters) == expected


def test_types_are_counted_the_most_frequent_first(workspace: Workspace, document: Document):
    with access.in_workspace(workspace.pk):
        assert knowledge_queries.entity_types(workspace=workspace) == [
            ("person", 2),
            ("product", 1),
        ]


def test_entities_elsewhere_are_not_listed(workspace: Workspace):
    rows.make_entity(rows.make_workspace("Other"), "Ada Lind")

    assert names(workspace) == []


# --- one entity -----------------------------------------------------------------------------------
def test_other_names_are_told_apart_from_the_name(workspace: Workspace, document: Document):
    rows.make_entity(workspace, "Ada Lind", aliases=["the keeper", "A. Lind"])

    assert view(workspace, "Ada Lind").aliases == ("A. Lind", "the keeper")


def test_the_description_comes_with_its_places(workspace: Workspace, document: Document):
    ada = rows.make_entity(workspace, "Ada Lind")
    chunk = rows.chunks_of(document)[1]
    with access.in_workspace(workspace.pk):
        ada.description_sources = [
            {"chunk": str(chunk.pk), "start": chunk.start, "end": chunk.start + 9},
            {"chunk": str(uuid.uuid4()), "start": 0, "end": 9},
        ]
        ada.save()

    [place] = view(workspace, "Ada Lind").description

    assert (place.text, place.document) == ("Bo Strand", document)
    assert TEXT[place.start : place.end] == place.text


def test_documents_are_those_that_name_it_the_most_first(workspace: Workspace, document: Document):
    rows.make_document(workspace, "Bills", "Bo Strand. Bo Strand.", names={"Bo Strand": "person"})

    found = view(workspace, "Bo Strand").documents

    assert [(row.title, mentions) for row, mentions in found] == [("Bills", 2), ("Keepers", 1)]


def test_facts_are_seen_from_either_end(workspace: Workspace, document: Document):
    ada, bo = rows.make_entity(workspace, "Ada Lind"), rows.make_entity(workspace, "Bo Strand")
    rows.make_relationship(bo, ada, rows.chunks_of(document)[1], "sells oil to")

    [from_bo], [from_ada] = view(workspace, "Bo Strand").facts, view(workspace, "Ada Lind").facts

    assert (from_bo.other, from_bo.is_outgoing) == (ada, True)
    assert (from_ada.other, from_ada.is_outgoing) == (bo, False)
    assert from_bo.predicate == from_ada.predicate == "sells oil to"


def test_the_weightiest_facts_come_first_and_no_more_than_asked(
    workspace: Workspace, document: Document
):
    ada, bo, light = (rows.make_entity(workspace, name) for name in NAMES)
    chunk = rows.chunks_of(document)[0]
    rows.make_relationship(ada, light, chunk, "keeps")
    for predicate in ("met", "saw"):
        rows.make_relationship(ada, bo, chunk, predicate)

    assert [fact.other for fact in view(workspace, "Ada Lind").facts] == [bo, light]
    assert [fact.other for fact in view(workspace, "Ada Lind", most_facts=1).facts] == [bo]


def test_what_is_stated_is_shown_before_what_is_only_named_together(
    workspace: Workspace, document: Document
):
    ada, bo = rows.make_entity(workspace, "Ada Lind"), rows.make_entity(workspace, "Bo Strand")
    first, second = rows.chunks_of(document)
    relationship = rows.make_relationship(ada, bo, second, "buys from")
    with access.in_workspace(workspace.pk):
        Evidence.objects.create(
            workspace=workspace,
            relationship=relationship,
            chunk=first,
            document=document,
            start=first.start,
            end=first.end,
            kind=Evidence.Kind.TOGETHER,
        )

    [fact] = view(workspace, "Ada Lind").facts

    assert [source.chunk_id for source in fact.sources] == [second.pk, first.pk]
    assert fact.predicate == "buys from"


def test_topics_are_those_it_belongs_to(workspace: Workspace, document: Document):
    ada = rows.make_entity(workspace, "Ada Lind")
    rows.make_report(workspace, "The light", [ada], rows.chunks_of(document))

    assert [report.title for report in view(workspace, "Ada Lind").topics] == ["The light"]
    assert view(workspace, "Bo Strand").topics == ()


@pytest.mark.parametrize("read", [knowledge_queries.entity_get, knowledge_queries.entity_view])
def test_an_entity_that_is_not_here_is_not_found(workspace: Workspace, read):
    foreign = rows.make_entity(rows.make_workspace("Other"), "Ada Lind")

    for pk in (foreign.pk, uuid.uuid4()):
        with (
            pytest.raises(NotFoundError, match="no such entity"),
            access.in_workspace(workspace.pk),
        ):
            read(workspace=workspace, entity_id=pk)


# --- topics ---------------------------------------------------------------------------------------
def topic(workspace: Workspace, community_id: uuid.UUID) -> TopicView:
    with access.in_workspace(workspace.pk):
        return topics.topic_view(workspace=workspace, community_id=community_id)


def family(workspace: Workspace, document: Document) -> tuple[uuid.UUID, uuid.UUID]:
    """A topic and a topic inside it."""
    ada, bo, light = (rows.make_entity(workspace, name) for name in NAMES)
    parent = rows.make_report(workspace, "The light", [ada, bo, light], rows.chunks_of(document))
    child = rows.make_report(workspace, "Oil", [bo], rows.chunks_of(document)[1:])
    with access.in_workspace(workspace.pk):
        child.community.level, child.community.parent = 1, parent.community
        child.community.save()
    return parent.community_id, child.community_id


def test_topics_are_a_tree_with_the_biggest_first(workspace: Workspace, document: Document):
    parent, child = family(workspace, document)
    rows.make_report(workspace, "Small", [rows.make_entity(workspace, "light")], [])

    with access.in_workspace(workspace.pk):
        Community.objects.create(
            pk=other_topics_id(workspace.pk), workspace=workspace, level=0, size=9
        )
        first = topics.topics_below(workspace=workspace, parent=None)
        nodes = topics.topic_nodes(workspace=workspace, communities=first)
        below = topics.topics_below(workspace=workspace, parent=parent)
        [part] = topics.topic_nodes(workspace=workspace, communities=below)
        above = topics.topics_above(workspace=workspace, community=part.community)

    assert [node.report and node.report.title for node in nodes] == ["The light", "Small", None]
    assert [node.parts for node in nodes] == [1, 0, 0]
    assert (part.community.pk, [one.pk for one in above]) == (child, [parent])


def test_the_first_topics_to_choose_are_the_largest(workspace: Workspace, document: Document):
    parent, child = family(workspace, document)
    small = rows.make_report(workspace, "Small", [rows.make_entity(workspace, "light")], [])

    with access.in_workspace(workspace.pk):
        CommunityReport.objects.in_workspace(workspace).filter(pk=small.pk).update(rating=9)
        [first] = topics.topics_to_choose(workspace, 1)
        with_chosen = topics.topics_to_choose(workspace, 1, child)
        [best] = topics.best_rated(workspace=workspace, most=1)

    assert first == (parent, "The light")
    assert with_chosen == [first, (child, "Oil")]
    assert best.title == "Small"


def test_a_topic_knows_the_topics_around_it(workspace: Workspace, document: Document):
    parent, child = family(workspace, document)

    above, below = topic(workspace, parent), topic(workspace, child)

    assert (above.parent, [report.title for report in above.children]) == (None, ["Oil"])
    assert below.parent is not None
    assert (below.parent.title, below.children) == ("The light", ())


def test_every_finding_comes_with_its_places(workspace: Workspace, document: Document):
    parent, _ = family(workspace, document)

    found = topic(workspace, parent)

    assert [finding.sources[0].text for finding in found.findings] == TEXT.split("\n\n")
    assert found.summary == ()


def test_members_of_the_highest_rank_come_first(workspace: Workspace, document: Document):
    parent, _ = family(workspace, document)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).filter(name="light").update(rank=9)

    assert topic(workspace, parent).entities[0].name == "light"


def test_a_topic_that_is_not_here_is_not_found(workspace: Workspace, document: Document):
    with pytest.raises(NotFoundError, match="no such topic"):
        topic(workspace, uuid.uuid4())


# --- places ---------------------------------------------------------------------------------------
def test_a_place_is_cut_out_of_its_chunk(workspace: Workspace, document: Document):
    chunk = rows.chunks_of(document)[1]
    with access.in_workspace(workspace.pk):
        found = spans.spans_of(
            workspace,
            [{"chunk": str(chunk.pk), "start": chunk.start + 3, "end": chunk.start + 9}],
        )

    assert [span.text for span in found] == ["Strand"]


def test_places_keep_their_order_and_lose_what_is_gone(workspace: Workspace, document: Document):
    first, second = rows.chunks_of(document)
    sources = [
        {"chunk": str(pk), "start": start, "end": start + 3}
        for pk, start in ((second.pk, second.start), (uuid.uuid4(), 0), (first.pk, 0))
    ]

    with access.in_workspace(workspace.pk):
        found = spans.spans_of(workspace, sources)

    assert [span.chunk_id for span in found] == [second.pk, first.pk]


def test_places_elsewhere_are_not_shown(workspace: Workspace):
    foreign = rows.make_document(rows.make_workspace("Other"), "Secret", TEXT)
    chunk = rows.chunks_of(foreign)[0]

    with access.in_workspace(workspace.pk):
        assert spans.spans_of(workspace, [{"chunk": str(chunk.pk), "start": 0, "end": 3}]) == []
        assert not Chunk.objects.in_workspace(workspace).exists()


def test_a_link_that_no_passage_words_is_told_by_what_a_model_wrote_of_it(
    workspace: Workspace, document: Document
):
    with access.in_workspace(workspace.pk):
        chunk = Chunk.objects.in_workspace(workspace).earliest("ordinal")
    ada, light = (rows.make_entity(workspace, name) for name in ("Ada Lind", "light"))
    link = rows.make_relationship(ada, light, chunk, "")
    with access.in_workspace(workspace.pk):
        Evidence.objects.in_workspace(workspace).filter(relationship=link).update(
            description="Ada Lind looks after the light."
        )

    facts = [fact for fact in view(workspace, "Ada Lind").facts if fact.other == light]

    assert [(fact.predicate, fact.description) for fact in facts] == [
        ("", "Ada Lind looks after the light.")
    ]
