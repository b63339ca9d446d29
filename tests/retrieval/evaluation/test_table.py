from __future__ import annotations

from typing import Any

from retrieval.evaluation import table
from retrieval.evaluation.runner import Tally


def measured(**changes: Any) -> dict[str, Any]:
    tally = Tally(
        covered=[([frozenset({0})], 1), ([frozenset(), frozenset({0})], 1)],
        search_seconds=[0.0021, 0.004],
        embed_seconds=[0.05, 0.06],
    )
    modes = {"walk": tally.summary([1, 2]), "a-mode-of-a-long-name": Tally().summary([1, 2])}
    report = {
        "dataset": "harbour",
        "documents": 3,
        "questions": 2,
        "ingest_seconds": 1.5,
        "failed_documents": 0,
        "modes": modes,
    }
    return report | changes


def test_the_heading_says_what_was_measured():
    first, *_ = table.lines(measured())

    assert first == "harbour: 3 documents, 2 questions, ingested in 1.5 s"


def test_every_mode_has_a_line_and_every_measure_a_column():
    _, heading, *rows, _ = table.lines(measured())

    assert heading.split()[:7] == [
        "mode",
        *("perfect@1", "perfect@2", "recall@1", "recall@2", "ndcg@1", "ndcg@2"),
    ]
    assert [row.split()[0] for row in rows] == ["walk", "a-mode-of-a-long-name"]


def test_the_figures_are_those_of_the_report():
    row = next(line for line in table.lines(measured()) if line.startswith("walk"))

    assert row.split()[1:5] == ["0.500", "1.000", "0.500", "1.000"]
    assert row.split()[7:] == ["0.750", "2.1", "4.0"]


def test_making_the_vector_is_told_once_for_all_modes():
    *_, last = table.lines(measured())

    assert last == "A question's vector took 50.0 ms (p50), 60.0 ms (p95) more."


def test_the_columns_are_aligned():
    _, *lines, _ = table.lines(measured())

    assert len({len(line) for line in lines}) == 1
    ends = [lines[0].index(name) + len(name) for name in ("perfect@1", "recall@2", "mrr")]
    for line in lines[1:]:
        assert all(line[end - 1] != " " and line[end : end + 1] == " " for end in ends)


def test_documents_that_could_not_be_read_are_not_kept_quiet():
    assert "2 documents could not be read." in list(table.lines(measured(failed_documents=2)))
    assert not any("could not be read" in line for line in table.lines(measured()))
