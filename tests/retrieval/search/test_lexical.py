from __future__ import annotations

import math
from uuid import UUID

import pytest

from ingestion.models import Chunk, CommonTerms
from kb_project.llm.fake import FakeEmbedder
from kb_project.text.words import terms
from retrieval.search import lexical
from retrieval.search.query import Query, QuestionVector
from tests import rows
from workspaces import access

EMBEDDER = FakeEmbedder()


def query_of(workspace, question, **over):
    return Query(workspace.pk, question, 5, QuestionVector(EMBEDDER, question), **over)


def best(workspace, question, **over):
    with access.in_workspace(workspace.pk):
        return lexical.best(query_of(workspace, question, **over), 5, named=True)


@pytest.mark.django_db
def test_scores_are_bm25_over_the_workspace():
    workspace = rows.make_workspace()
    document = rows.make_document(workspace, "x", "oil oil lamp\n\nlamp\n\nboat tide noon")
    oil = rows.chunks_of(document)[0]

    ((chunk_id, score, _, matched),) = best(workspace, "oil")

    # Each passage holds its title's term "x" too: lengths 4, 2, 4.
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    norm = 2 + 1.2 * (0.6 + 0.4 * 4 / (10 / 3))
    assert chunk_id == oil.pk
    assert score == pytest.approx(idf * 2 * 2.2 / norm)
    assert matched == ["oil"]


@pytest.mark.django_db
def test_no_word_counts_against_a_passage_when_others_that_had_it_are_gone():
    workspace = rows.make_workspace()
    rows.make_document(workspace, "x", "oil oil lamp\n\noil lamp\n\nboat tide noon")
    with access.in_workspace(workspace.pk):
        CommonTerms.objects.create(
            workspace=workspace, terms=["oil"], passages=[50], of_passages=60
        )

    assert [score > 0 for _, score, _, _ in best(workspace, "oil")] == [True, True]


@pytest.mark.django_db
def test_a_passage_gains_a_share_of_its_better_neighbours_score():
    workspace = rows.make_workspace()
    document = rows.make_document(workspace, "x", "oil oil lamp\n\nthe tide\n\noil boat\n\nnoon")
    first, between, third, last = (chunk.pk for chunk in rows.chunks_of(document))
    query = query_of(workspace, "oil")

    with access.in_workspace(workspace.pk):
        own = lexical.best(query, 5)
        found = lexical.best(query, 5, wordless=True)
        hits = {hit.chunk_id: hit for hit in lexical.search(query, wordless=True)}

    scores = dict(row[:2] for row in found)
    assert [row[0] for row in own] == [first, third]
    assert [row[0] for row in found] == [first, third, between, last]
    assert scores[between] == pytest.approx(lexical.BESIDE * scores[first])
    assert scores[last] == pytest.approx(lexical.BESIDE * scores[third])
    assert hits[between].why == (lexical.NEIGHBOUR,)


@pytest.mark.django_db
@pytest.mark.parametrize("first", [True, False])
def test_steps_of_one_search_look_words_up_once_and_find_what_each_would_alone(
    first, django_assert_num_queries
):
    workspace = rows.make_workspace()
    rows.make_document(workspace, "x", "oil oil lamp\n\nthe tide\n\noil boat\n\nnoon")
    with access.in_workspace(workspace.pk):
        alone = {
            wordless: lexical.best(query_of(workspace, "oil"), 3, wordless=wordless)
            for wordless in (True, False)
        }
        together = query_of(workspace, "oil")
        # How many passages have the words is asked first, once.
        with django_assert_num_queries(2 if first else 3):
            one = lexical.best(together, 3, wordless=first)
            other = lexical.best(together, 3, wordless=not first)
            again = lexical.best(together, 3, wordless=first)

    assert alone[True] != alone[False]
    assert (one, other, again) == (alone[first], alone[not first], alone[first])


@pytest.mark.django_db
def test_words_are_named_for_those_who_ask_for_them(django_assert_num_queries):
    workspace = rows.make_workspace()
    rows.make_document(workspace, "x", "oil oil lamp\n\nthe tide\n\noil boat")
    query = query_of(workspace, "oil")

    with access.in_workspace(workspace.pk), django_assert_num_queries(3):
        unnamed = lexical.best(query, 5)
        named = lexical.best(query, 5, named=True)
        again = lexical.best(query, 5)

    assert [row[2:] for row in unnamed] == [(True, []), (True, [])]
    assert [row[2:] for row in named] == [(True, ["oil"]), (True, ["oil"])]
    assert [row[:2] for row in again] == [row[:2] for row in named]


@pytest.mark.django_db
def test_passages_with_words_are_all_found_where_neighbours_take_their_places(monkeypatch):
    monkeypatch.setattr(lexical, "USUAL", 1)
    workspace = rows.make_workspace()
    rows.make_document(workspace, "x", "oil oil oil\n\nthe tide\n\nnoon")
    for number in range(4):
        rows.make_document(workspace, f"d{number}", "Some oil, and much else besides the oil.")
    query = query_of(workspace, "oil")

    with access.in_workspace(workspace.pk):
        lexical.best(query, 1, wordless=True, named=True)
        found = lexical.best(query, 5, named=True)

    assert len(found) == 5
    assert all(row[3] == ["oil"] for row in found)


@pytest.mark.django_db
def test_a_rare_word_outweighs_a_common_one():
    workspace = rows.make_workspace()
    texts = ["The lamp burns.", "The lamp is out.", "The lamp was lit.", "The buoy sank."]
    for number, text in enumerate(texts):
        rows.make_document(workspace, f"d{number}", text)

    found = best(workspace, "lamp buoy")

    assert found[0][3] == ["buoy"]
    assert len(found) == 4


@pytest.mark.django_db
def test_another_workspace_changes_no_score():
    workspace, other = rows.make_workspace("One"), rows.make_workspace("Other")
    rows.make_document(workspace, "a", "oil for the lamp\n\nthe tide was out")
    before = best(workspace, "oil")

    for number in range(5):
        rows.make_document(other, f"b{number}", "oil and more oil")

    assert best(workspace, "oil") == before


@pytest.mark.django_db
@pytest.mark.parametrize("question", ["lamp oil", "the oil of the lamp at noon", "tide", "ship"])
def test_scores_are_those_of_reading_every_passage(question):
    workspace = rows.make_workspace()
    for number, text in enumerate(["oil oil lamp", "lamp\n\nnoon tide noon", "a boat, a lamp"]):
        rows.make_document(workspace, f"d{number}", text)
    with access.in_workspace(workspace.pk):
        texts = {one.pk: terms(f"{one.context}\n{one.text}") for one in every_chunk(workspace)}
    mean = sum(map(len, texts.values())) / len(texts)
    expected: dict[UUID, float] = {}
    for pk, held in texts.items():
        norm = 1.2 * (0.6 + 0.4 * len(held) / mean)
        for term in set(terms(question)) & set(held):
            within = sum(term in other for other in texts.values())
            idf = math.log(1 + (len(texts) - within + 0.5) / (within + 0.5))
            gain = idf * held.count(term) * 2.2 / (held.count(term) + norm)
            expected[pk] = expected.get(pk, 0) + gain

    with access.in_workspace(workspace.pk):
        beside = dict.fromkeys(expected, 0.0)
        for pk, neighbours in neighbours_of(workspace).items():
            best_beside = max((expected.get(one, 0.0) for one in neighbours), default=0.0)
            if pk in beside:
                beside[pk] = lexical.BESIDE * best_beside
        found = lexical.best(query_of(workspace, question), 50)

    assert {row[0]: row[1] for row in found} == pytest.approx(
        {pk: score + beside[pk] for pk, score in expected.items()}
    )


def every_chunk(workspace):
    return Chunk.objects.in_workspace(workspace).order_by("version", "ordinal")


def neighbours_of(workspace):
    places = {(one.version_id, one.ordinal): one.pk for one in every_chunk(workspace)}
    return {
        pk: [places[key] for key in ((v, o - 1), (v, o + 1)) if key in places]
        for (v, o), pk in places.items()
    }


@pytest.mark.django_db
def test_a_scope_keeps_the_statistics_of_the_workspace():
    workspace = rows.make_workspace()
    inside = rows.make_document(workspace, "in", "oil for the lamp")
    rows.make_document(workspace, "out", "oil by boat")

    ((_, score, *_),) = best(workspace, "oil", documents=(inside.pk,))

    assert score == pytest.approx(dict(row[:2] for row in best(workspace, "oil"))[chunk(inside)])


@pytest.mark.django_db
def test_chinese_words_find_chinese_passages():
    workspace = rows.make_workspace()
    rows.make_document(workspace, "报告", "工坊浇铸了十四块毛坯。\n\n今天天气很好。")

    found = best(workspace, "多少块毛坯？")

    assert len(found) == 1 or found[0][1] > found[1][1]
    assert "毛坯" in found[0][3]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "question", ["'; DROP TABLE ingestion_chunk; --", "100% %s %(x)s", "\\", "o'brien"]
)
def test_a_question_is_never_part_of_the_statement(question):
    workspace = rows.make_workspace()
    rows.make_document(workspace, "a", "oil for the lamp")

    assert isinstance(best(workspace, question), list)


def test_reasons_name_the_words_as_the_question_spells_them():
    surfaces = lexical.surfaces_of("Scrooge's partners in getWeightCol")

    assert lexical.shared_words(["scroog", "partner"], surfaces) == "Shares “Scrooge's”, “partners”"
    assert lexical.shared_words(["weight"], surfaces) == "Shares “weight”"


def test_no_more_than_five_words_are_named():
    assert lexical.shared_words(list("abcdefgh"), {}).count("“") == 5


def chunk(document):
    return rows.chunks_of(document)[0].pk


def test_the_terms_of_a_word_are_found_once_however_many_it_has(monkeypatch):
    asked: list[str] = []
    real = lexical.terms
    monkeypatch.setattr(lexical, "terms", lambda text: asked.append(text) or real(text))

    lexical.surfaces_of("灯塔" * 50)

    assert len(asked) == len(set(asked))


@pytest.mark.django_db
def test_common_words_that_are_not_read_in_full_count_all_the_same(monkeypatch):
    workspace = rows.make_workspace()
    texts = ["The lamp burns.", "The lamp and the buoy.", "The lamp was lit.", "The buoy sank."]
    for number, text in enumerate(texts):
        rows.make_document(workspace, f"d{number}", text)
    in_full = best(workspace, "lamp buoy")

    monkeypatch.setattr(lexical, "READ", 1)
    found = best(workspace, "lamp buoy")

    expected = [row for row in in_full if "buoy" in row[3]]
    assert [(row[0], row[3]) for row in found] == [(row[0], row[3]) for row in expected]
    assert [row[1] for row in found] == pytest.approx([row[1] for row in expected])
    assert found[0][3] == ["buoy", "lamp"]


@pytest.mark.django_db
def test_a_scope_holds_for_words_that_are_looked_up_too(monkeypatch):
    monkeypatch.setattr(lexical, "READ", 1)
    workspace = rows.make_workspace()
    for number, text in enumerate(["The lamp and the buoy.", "The buoy sank.", "A lamp."]):
        rows.make_document(workspace, f"d{number}", text)
    inside = rows.make_document(workspace, "inside", "The lamp of the other buoy.")

    found = best(workspace, "lamp buoy", documents=(inside.pk,))

    assert [row[0] for row in found] == [chunk.pk for chunk in rows.chunks_of(inside)]
