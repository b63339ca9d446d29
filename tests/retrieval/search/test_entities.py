from __future__ import annotations

import pytest

from ingestion.models import Entity, Fragment, WalkSnapshot
from kb_project.llm.fake import FakeChat
from retrieval.search import entities, mix, relations
from retrieval.search.query import QuestionVector
from retrieval.search.records import SOURCES
from retrieval.search.results import RecordKind
from tests import rows
from tests.retrieval.search.films import (
    EMBEDDER,
    QUESTION,
    CountingEmbedder,
    all_text,
    make_films,
    titles,
)
from workspaces import access

MODES = pytest.mark.parametrize("mode", [entities, relations, mix])

pytestmark = pytest.mark.django_db


@pytest.fixture
def films():
    return make_films()


def test_entities_come_first_and_then_their_relationships(films):
    found = entities.search(films.query())

    kinds = [record.kind for record in found.records]
    assert kinds == sorted(kinds, key=[RecordKind.ENTITY, RecordKind.RELATIONSHIP].index)
    assert titles(found, RecordKind.ENTITY)[0] == "Tide Song"


def test_both_directions_of_a_link_are_records_of_their_own(films):
    links = titles(entities.search(films.query()), RecordKind.RELATIONSHIP)

    assert sorted(links) == ["Ada Lind → Strand", "Ada Lind → Tide Song", "Tide Song → Ada Lind"]


def test_links_go_by_what_they_say_of_the_question_and_not_by_degree(films):
    hub = rows.make_entity(films.workspace, "Cinema")
    for number in range(9):  # the ends of this link have the highest degrees
        other = rows.make_entity(films.workspace, f"Hall {number}")
        rows.make_relationship(hub, other, films.chunk("Roads"), "shows")
    heavy = rows.make_relationship(hub, films.song, films.chunk("Roads"), "shows")
    for number in range(5):
        heavy = rows.make_relationship(hub, films.song, films.chunk("Letters"), f"shows {number}")

    links = titles(entities.search(films.query()), RecordKind.RELATIONSHIP)

    assert heavy.weight > films.made.weight
    assert links.index("Ada Lind → Tide Song") < links.index("Cinema → Tide Song")


@MODES
def test_records_rest_on_passages_and_passages_on_names(films, mode):
    found = mode.search(films.query())

    assert all(1 <= len(record.sources) <= SOURCES for record in found.records)
    assert found.chunks[0].chunk_id == films.chunk("Tide Song").pk
    assert len(found.chunks) == 4


@MODES
def test_the_search_says_where_it_began(films, mode):
    seeds = {(seed.kind, seed.name) for seed in mode.search(films.query()).seeds}

    assert ("entity", "Tide Song") in seeds
    assert {name for kind, name in seeds if kind == "keyword"} <= {"Tide Song", "director", "born"}


@MODES
def test_nothing_of_documents_outside_the_scope_is_told(films, mode):
    found = mode.search(films.query(only=("Tide Song", "Ada Lind")))

    inside = {films.chunk("Tide Song").pk, films.chunk("Ada Lind").pk}
    assert found.records
    assert {chunk.chunk_id for chunk in found.chunks} <= inside
    assert {source for record in found.records for source in record.sources} <= inside
    for secret in ("hid", "despised", "failure", "secret", "Per Holm"):
        assert secret not in all_text(found)


def test_a_scoped_entity_is_described_from_inside_the_scope(films):
    texts = {
        record.title: record.text
        for record in entities.search(films.query(only=("Tide Song", "Ada Lind"))).records
    }

    assert "Ada Lind" in texts["Ada Lind"]
    assert texts["Ada Lind"] in (
        "Ada Lind was born in Strand, where her father kept a shop.",
        "Tide Song is a film of 1931 made by its director Ada Lind.",
    )


def test_a_models_notes_on_the_scope_describe_an_entity(films):
    with access.in_workspace(films.workspace.pk):
        for title, text in (("Ada Lind", "A film maker."), ("Letters", "A recluse.")):
            chunk = films.chunk(title)
            Fragment.objects.create(
                workspace=films.workspace,
                entity=films.ada,
                chunk=chunk,
                document=films.documents[title],
                start=0,
                end=5,
                text=text,
            )

    found = entities.search(films.query(only=("Tide Song", "Ada Lind")))

    texts = {record.title: record.text for record in found.records}
    assert texts["Ada Lind"] == "A film maker."


def test_without_a_scope_descriptions_are_given_whole(films):
    texts = {record.title: record.text for record in entities.search(films.query()).records}

    assert texts["Ada Lind"] == "Ada Lind hid in Strand and despised her film."


@MODES
def test_an_entity_left_out_is_no_record_no_seed_and_no_end_of_a_link(films, mode):
    found = mode.search(films.query(exclude=(films.ada.pk,)))

    assert films.ada.pk not in {record.id for record in found.records}
    assert films.ada.pk not in {seed.id for seed in found.seeds}
    assert not titles(found, RecordKind.RELATIONSHIP)


def test_an_entity_to_start_from_comes_first(films):
    found = entities.search(films.query("Which road is closed?", include=(films.strand.pk,)))

    assert titles(found, RecordKind.ENTITY)[0] == "Strand"
    assert next(seed.name for seed in found.seeds if seed.kind == "entity") == "Strand"


@MODES
def test_without_a_graph_meaning_and_words_are_searched_and_said_so(films, mode):
    with access.in_workspace(films.workspace.pk):
        WalkSnapshot.objects.in_workspace(films.workspace).delete()
    asked = films.query()

    found = mode.search(asked)

    assert found.mode == "hybrid"
    assert found.chunks
    assert [note.code for note in asked.notes] == ["graph_pending"]


@MODES
def test_keywords_are_looked_up_one_by_one(films, mode):
    embedder = CountingEmbedder()
    chat = FakeChat(lambda _: {"low_level": ["Ada", "Lind"], "high_level": ["birth", "town"]})
    query = films.query(chat=chat)
    object.__setattr__(query, "vector", QuestionVector(embedder, QUESTION))

    mode.search(query)

    wanted = {
        entities: {"Ada", "Lind"},
        relations: {"birth", "town"},
        mix: {"Ada", "Lind", "birth", "town"},
    }
    assert sorted(embedder.asked) == sorted(wanted[mode] | {QUESTION})


@MODES
@pytest.mark.parametrize("question", ["???", "朱元璋的父亲是谁？", "the of and"])
def test_any_question_finds_something_or_nothing_and_never_fails(films, mode, question):
    assert len(mode.search(films.query(question)).chunks) <= 4


@MODES
def test_an_entity_that_is_gone_since_the_snapshot_is_no_record(films, mode):
    with access.in_workspace(films.workspace.pk):
        Entity.objects.in_workspace(films.workspace).filter(pk=films.song.pk).delete()

    found = mode.search(films.query())

    assert "Tide Song" not in titles(found, RecordKind.ENTITY)
    assert not [title for title in titles(found, RecordKind.RELATIONSHIP) if "Tide" in title]


def test_chinese_names_are_found():
    workspace = rows.make_workspace("Elsewhere")
    rows.make_document(
        workspace,
        "明太祖",
        "朱元璋的父亲是朱世珍。",
        names={"朱元璋": "person", "朱世珍": "person"},
        embedder=EMBEDDER,
    )
    rows.make_document(workspace, "路", "通往采石场的路已关闭。", embedder=EMBEDDER)
    rows.make_snapshot(workspace)
    films = make_films()
    query = films.query("朱元璋的父亲是谁？")
    object.__setattr__(query, "workspace_id", workspace.pk)

    found = entities.search(query)

    assert titles(found, RecordKind.ENTITY)[0] == "朱元璋"
