from __future__ import annotations

from uuid import UUID

from kb_project.errors import ReplyError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search.drift import primer
from retrieval.search.query import Query, QuestionVector
from tests.retrieval.search.global_search.model import lines_of, scripted
from tests.retrieval.search.global_search.shelves import id_of, make_report, ranked

QUERY = Query(UUID(int=1), "Which lamps?", 5, QuestionVector(FakeEmbedder(), "Which lamps?"))
REPORTS = [make_report(f"topic {number}", f"Said {number}.") for number in range(30)]


def prime(script, reports=REPORTS, window=16_000):
    chat = scripted(window, drift_primer=script)
    return primer.prime(QUERY, chat, tuple(ranked(*reports))), chat


def says(**said):
    return lambda _: {"answer": "", "score": 0, "records": [], "follow_ups": []} | said


def test_the_nearest_reports_are_read_in_one_call_the_nearest_first():
    primed, chat = prime(says())

    assert len(chat.requests) == 1
    titles = [text.split(".")[0] for text in lines_of(chat.requests[0]).values()]
    assert titles == [f"topic {number}" for number in range(20)]
    assert primed.read == 20


def test_a_small_window_reads_fewer_reports():
    long = [make_report(f"topic {number}", "a b c d e " * 60) for number in range(20)]

    primed, _ = prime(says(), long, window=4_000)

    assert 0 < primed.read < 20


def test_the_answer_rests_on_reports_it_was_given():
    primed, _ = prime(says(answer="Said 1. [T2]", score=70, records=["T1", "T99"]))

    assert primed.drawn is not None
    assert primed.drawn.point.text == "Said 1."
    assert primed.drawn.point.records == (REPORTS[0].id, REPORTS[1].id)
    assert id_of("Said 1.") in primed.drawn.point.chunks
    assert primed.foreign == 1


def test_an_answer_that_says_nothing_or_rests_on_nothing_is_none():
    assert prime(says(score=90, records=["T1"]))[0].drawn is None
    assert prime(says(answer="A.", score=0, records=["T1"]))[0].drawn is None
    assert prime(says(answer="A.", score=90))[0].drawn is None


def test_follow_ups_are_given_as_they_were_said():
    primed, _ = prime(says(follow_ups=[{"question": "Who?", "score": 3}, "When?"]))

    assert [one.question for one in primed.follow_ups] == ["Who?", "When?"]


def test_no_usable_answer_is_a_loss_and_no_empty_answer():
    primed, _ = prime(lambda _: ReplyError("No JSON.", code="reply_invalid"))

    assert primed.is_lost
    assert (primed.drawn, primed.follow_ups, primed.read) == (None, (), 0)
