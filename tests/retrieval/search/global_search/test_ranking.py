from __future__ import annotations

import pytest

from retrieval.search.global_search import ranked_reports, ranking
from retrieval.search.global_search.ranking import Ranked, passages
from retrieval.search.results import RecordKind
from tests.retrieval.search.global_search.reef import Reef, lights_and_roads
from tests.retrieval.search.global_search.shelves import id_of, make_report, ranked
from workspaces import access


def rank(reef, question, **options):
    query = reef.query(question, **options)
    with access.in_workspace(reef.workspace.pk):
        shelf = ranked_reports(query)
    assert shelf is not None
    return shelf.ranked, query


def titles(found):
    return [one.topic.title for one in found]


@pytest.mark.django_db
def test_the_words_of_a_report_and_the_passages_behind_it_rank_it():
    reef = lights_and_roads()

    assert titles(rank(reef, "Who mends road 1?")[0])[0] == "Road works 1"
    found, _ = rank(reef, "Who mends a road?")
    assert {title.split()[0] for title in titles(found)[:3]} == {"Road"}
    assert len(found) == 6


@pytest.mark.django_db
def test_where_a_question_says_little_a_reports_own_rating_decides():
    reef = Reef()
    for number, name in enumerate(("Ada", "Bo", "Cy")):
        reef.document(name, f"{name} {name} {name}.")
        report = reef.topic(name, {f"{name}.": [name]}, [])
        with access.in_workspace(reef.workspace.pk):
            report.rating = float(number)
            report.save()

    found, query = rank(reef, "What is it?")

    assert titles(found) == ["Cy", "Bo", "Ada"]
    assert query.notes == []


@pytest.mark.django_db
def test_the_sources_of_a_report_come_the_nearest_to_the_question_first():
    reef = Reef()
    reef.document("Oil", "Oil comes by boat.")
    reef.document("Lamp", "The lamp is trimmed at dusk.")
    reef.topic("Light", {"Oil comes.": ["Oil"], "The lamp is trimmed.": ["Lamp"]}, [])

    found, _ = rank(reef, "When is the lamp trimmed?")

    record = found[0].record(0.5, ("Because",))
    assert reef.titles(list(record.sources)) == ["Lamp", "Oil"]
    assert (record.kind, record.score, record.why) == (RecordKind.REPORT, 0.5, ("Because",))


@pytest.mark.django_db
def test_the_same_question_gives_the_same_order():
    reef = lights_and_roads()

    assert list(rank(reef, "Who trims?")[0]) == list(rank(reef, "Who trims?")[0])


def held(*titles: str, chunks: int) -> list[Ranked]:
    reports = [
        make_report(title, *(f"{title} {number}" for number in range(chunks))) for title in titles
    ]
    return ranked(*reports)


def test_a_report_gives_at_most_a_third_of_the_passages_while_others_have_some():
    found = passages(held("a", "b", "c", "d", chunks=9), 9)

    of_first = {id_of(f"a {number}") for number in range(9)}
    assert len(found) == 9
    assert len(of_first & {hit.chunk_id for hit in found}) == 3


def test_passages_come_best_first_and_each_once():
    shared = make_report("a", "same", "own"), make_report("b", "same", "other")

    found = passages(ranked(*shared), 6)

    assert len({hit.chunk_id for hit in found}) == len(found) == 3
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_no_reports_give_no_passages():
    assert passages([], 5) == []
    assert ranking.LARGEST_SHARE < 1
