from __future__ import annotations

from retrieval.evaluation.runner import Tally
from retrieval.evaluation.table import lines

FIRST, NONE = frozenset({0}), frozenset[int]()


def report(**over):
    slow = Tally([([NONE, FIRST], 1)], [0.012], [0.08])
    fast = Tally([([FIRST], 1)], [0.002], [0.08])
    modes = {"walk": slow.summary((1, 2)), "dense": fast.summary((1, 2))}
    found = {"dataset": "tides", "documents": 3, "questions": 1, "ingest_seconds": 4.2}
    return found | {"failed_documents": 0, "modes": modes} | over


def test_each_mode_is_a_line_under_the_heading():
    said = list(lines(report()))

    assert said[0] == "tides: 3 documents, 1 questions, ingested in 4.2 s"
    assert said[1].split()[:3] == ["mode", "perfect@1", "perfect@2"]
    assert said[2].split()[:3] == ["walk", "0.000", "1.000"]
    assert said[3].split()[:3] == ["dense", "1.000", "1.000"]


def test_columns_stand_below_each_other():
    said = list(lines(report()))[1:]

    assert len({len(line) for line in said}) == 1


def test_documents_that_could_not_be_read_are_said():
    assert "2 documents could not be read." in lines(report(failed_documents=2))


def test_times_are_milliseconds():
    summary = report()["modes"]["walk"]

    assert summary["latency_ms"] == {"p50": 12.0, "p95": 12.0}
    assert summary["embed_ms"] == {"p50": 80.0, "p95": 80.0}
    assert summary["mrr"] == 0.5
