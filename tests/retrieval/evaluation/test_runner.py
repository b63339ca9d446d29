from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from kb_project.ports import build_ports
from retrieval.evaluation import runner
from retrieval.evaluation.dataset import Dataset, Evidence, Filled, SourceDocument, SourceQuestion
from retrieval.evaluation.runner import Plan, Tally
from retrieval.search.query import MOST_HITS
from tests import rows
from tests.retrieval.answering.passages import hit

TEXTS = {
    "Keepers": "Ada Lind keeps the Skarrow light.\n\nThe lamp burns oil.",
    "Roads": "The quarry road is closed in winter.",
}


def asking_for(*evidence: Evidence) -> SourceQuestion:
    return SourceQuestion("?", evidence)


@pytest.mark.parametrize("k", [0, -1, MOST_HITS + 1])
def test_a_plan_counts_no_impossible_number_of_passages(k):
    with pytest.raises(InputError) as refused:
        Plan(("walk",), (5, k))

    assert refused.value.code == "invalid_top_k"


def test_a_plan_names_only_modes_there_are():
    with pytest.raises(InputError, match="telepathy"):
        Plan(("walk", "telepathy"), (5,))


@pytest.mark.parametrize(("modes", "ks"), [((), (5,)), (("walk",), ())])
def test_a_plan_that_measures_nothing_is_refused(modes, ks):
    with pytest.raises(InputError, match="at least one"):
        Plan(modes, ks)


def test_evidence_that_names_a_chunk_is_covered_by_that_chunk_only():
    first = hit("one")
    second = hit("two", document=first.document_id)
    question = asking_for(Evidence(frozenset({4}), 1))

    covered = runner.cover(
        question,
        [first, second],
        {first.document_id: 4},
        {first.chunk_id: 0, second.chunk_id: 1},
    )

    assert covered == [frozenset(), {0}]


def test_documents_that_share_a_title_will_all_do():
    one, other = hit("one"), hit("other")
    question = asking_for(Evidence(frozenset({0, 1})))
    indices = {one.document_id: 0, other.document_id: 1}

    covered = runner.cover(question, [other, one], indices, {one.chunk_id: 0, other.chunk_id: 0})

    assert covered == [{0}, frozenset()]


@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_no_piece_of_evidence_is_covered_twice(documents, wanted):
    hits = [hit(str(number)) for number in documents]
    indices = {one.document_id: number for one, number in zip(hits, documents, strict=True)}
    question = asking_for(*(Evidence(frozenset({number})) for number in wanted))

    covered = runner.cover(question, hits, indices, {one.chunk_id: 0 for one in hits})

    listed = [number for new in covered for number in new]
    assert len(listed) == len(set(listed))
    assert set(listed) == {number for number, of in enumerate(wanted) if of in documents}
    assert len(covered) == len(hits)


def test_a_summary_averages_over_the_questions_and_tells_milliseconds():
    tally = Tally(
        covered=[([frozenset({0}), frozenset({1})], 2), ([frozenset(), frozenset({0})], 1)],
        search_seconds=[0.010, 0.030],
        embed_seconds=[0.5, 0.5],
    )

    summary = tally.summary([1, 2])

    assert summary["recall"] == {"1": 0.25, "2": 1.0}
    assert summary["perfect"] == {"1": 0.0, "2": 1.0}
    assert summary["mrr"] == 0.75
    assert summary["latency_ms"] == {"p50": 10.0, "p95": 30.0}
    assert summary["embed_ms"] == {"p50": 500.0, "p95": 500.0}


def test_a_mode_that_was_never_asked_is_summed_up_as_zeros():
    summary = Tally().summary([5])

    assert summary["recall"] == {"5": 0.0}
    assert summary["latency_ms"] == {"p50": 0.0, "p95": 0.0}


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_every_mode_answers_every_question_of_the_data_set():
    workspace = rows.make_workspace()
    made = [
        rows.make_document(workspace, title, text, embedder=build_ports().embedder)
        for title, text in TEXTS.items()
    ]
    dataset = Dataset(
        "harbour",
        tuple(SourceDocument(title, title, text, None) for title, text in TEXTS.items()),
        (
            SourceQuestion("What does the lamp burn?", (Evidence(frozenset({0}), 1),)),
            SourceQuestion("Which road is closed in winter?", (Evidence(frozenset({1})),)),
        ),
    )
    indices = {document.pk: place for place, document in enumerate(made)}
    filled = Filled(workspace, indices, seconds=0.0, is_reused=False, failed=0)

    tallies = runner.run_questions(dataset, Plan(("lexical", "dense"), (1, 3)), filled)

    assert set(tallies) == {"lexical", "dense"}
    for tally in tallies.values():
        assert len(tally.covered) == len(tally.search_seconds) == len(tally.embed_seconds) == 2
        assert tally.summary([1])["perfect"] == {"1": 1.0}
        assert all(seconds > 0 for seconds in tally.search_seconds)
