from __future__ import annotations

from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kb_project.graph.walk import Seeds
from kb_project.graph.walk_index import ChunkRow
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import keywords as likeness
from retrieval.search.keywords import GraphView
from retrieval.search.query import Query, QuestionVector
from tests.kb_project.graph.walks import AliasRow, EntityRow, MentionRow, build

FILM, LIFE, ROAD = (UUID(int=number) for number in (1, 2, 3))
SONG, ADA, OTHER_ADA, TOWN = (UUID(int=number) for number in (11, 12, 13, 14))
INDEX = build(
    [ChunkRow(FILM, "tide song"), ChunkRow(LIFE, ""), ChunkRow(ROAD, "")],
    [
        EntityRow(SONG, "tide song"),
        EntityRow(ADA, "ada lind"),
        EntityRow(OTHER_ADA, "ada lind"),
        EntityRow(TOWN, "strand"),
    ],
    [
        MentionRow(FILM, SONG, 1),
        MentionRow(FILM, ADA, 1),
        MentionRow(LIFE, ADA, 2),
        MentionRow(LIFE, TOWN, 1),
        MentionRow(ROAD, OTHER_ADA, 1),
    ],
    [AliasRow("the director", ADA)],
)


def query(**others):
    question = "What of it?"
    return Query(uuid4(), question, 5, QuestionVector(FakeEmbedder(), question), **others)


def weights(keywords, *, near=None, within=None, question=None, **others):
    around = GraphView(INDEX, within, question or {}, near or {})
    found = likeness.weigh(query(**others), around, keywords)
    return {one: float(found[place]) for place, one in enumerate(INDEX.entity_ids)}


def order(keywords, **others):
    found = weights(keywords, **others)
    return sorted((one for one in found if found[one] > 0), key=lambda one: -found[one])


def test_a_name_finds_its_entity():
    assert order(["Tide Song"]) == [SONG]
    assert order(["the director"]) == [ADA]


def test_homonyms_share_what_their_name_is_worth():
    found = weights(["Strand", "Tide Song"])
    shared = weights(["Ada Lind"])

    assert found[TOWN] == found[SONG] == pytest.approx(0.5)
    assert shared[ADA] == shared[OTHER_ADA] > 0


def test_half_of_a_name_finds_it_less_surely():
    assert 0 < weights(["Lind"])[ADA] < weights(["Tide Song"])[SONG]
    assert order(["the Song of the Seven Seas"]) == []


def test_an_entity_is_as_near_as_the_passages_that_mention_it():
    near = {"where she grew up": {LIFE: 1.0, FILM: 0.1}}

    found = order(["where she grew up"], near=near)

    assert found[0] in (ADA, TOWN)
    assert found.index(SONG) > found.index(TOWN)
    assert OTHER_ADA not in found


def test_the_question_itself_counts_a_little():
    found = weights(["Tide Song"], question={ROAD: 1.0})

    assert found[SONG] > found[OTHER_ADA] > 0


def test_nothing_outside_the_scope_has_weight():
    inside = np.array([False, True, False])

    assert order(["Tide Song", "Ada Lind"], within=inside) == [ADA]


def test_names_left_out_weigh_nothing_and_those_to_start_from_the_most():
    assert order(["Tide Song", "Strand"], exclude=(SONG,)) == [TOWN]
    assert order(["Tide Song"], include=(TOWN, uuid4()))[0] == TOWN


def test_a_keyword_that_nothing_matches_weighs_nothing():
    assert order(["zeppelin"]) == []


@given(st.lists(st.text(max_size=30), max_size=6))
def test_any_keywords_give_finite_weights(keywords):
    found = weights(keywords)

    assert all(0 <= weight < 100 for weight in found.values())


def test_passages_of_an_entity_are_the_closest_first():
    around = GraphView(INDEX, None, {LIFE: 0.2, FILM: 0.9})
    [place] = INDEX.entity_ids.places([ADA]).tolist()

    assert likeness.passages_of(around, place) == [FILM, LIFE]


def test_passages_outside_the_scope_are_not_given():
    around = GraphView(INDEX, np.array([False, True, False]), {})
    [place] = INDEX.entity_ids.places([ADA]).tolist()

    assert likeness.passages_of(around, place) == [LIFE]


def test_closeness_goes_from_nought_to_one():
    assert likeness.scaled([(FILM, 0.9), (LIFE, 0.8), (ROAD, 0.7)]) == pytest.approx(
        {FILM: 1.0, LIFE: 0.5, ROAD: 0.0}
    )
    assert likeness.scaled([(FILM, 0.9)]) == {FILM: 1.0}
    assert likeness.scaled([]) == {}


def test_an_empty_graph_weighs_nothing():
    empty = build([], [], [])

    found = likeness.weigh(query(), GraphView(empty, None, {}), ["Ada"])

    assert likeness.strongest(empty, found, 5) == []


def test_a_search_begins_with_what_is_wanted_and_without_what_is_not():
    start = Seeds({0: 1.0, 1: 0.5, 2: 0.5}, {2: 0.05}, {"Tide Song": [0], "Ada Lind": [1, 2]})

    found = likeness.begun(query(include=(TOWN,), exclude=(SONG, ADA)), INDEX, start)

    assert set(found.entities) == set(INDEX.entity_ids.places([OTHER_ADA, TOWN]))
    assert found.chunks == {2: 0.05}
    assert found.names == {"Ada Lind": [INDEX.entity_ids.place(OTHER_ADA)]}
