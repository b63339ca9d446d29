from __future__ import annotations

from uuid import UUID

import pytest

from kb_project.errors import ReplyError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import drift
from retrieval.search.drift import with_chat
from retrieval.search.query import Query, QuestionVector
from tests import rows
from tests.retrieval.search.drift.replies import (
    PRIMER,
    QUESTION,
    endless,
    says,
    step,
    titles_read,
)
from tests.retrieval.search.global_search.model import asked, lines_of, scripted
from tests.retrieval.search.global_search.shelves import id_of, make_report, ranked

pytestmark = pytest.mark.django_db

QUERY = Query(UUID(int=1), "Which lamps?", 5, QuestionVector(FakeEmbedder(), "Which lamps?"))
REPORTS = [make_report(f"topic {number}", f"Said {number}.") for number in range(30)]


def prime(script, reports=REPORTS, window=16_000, calls=40):
    chat = scripted(window, drift_primer=script)
    return with_chat.prime(QUERY, chat, tuple(ranked(*reports)), calls), chat


def test_the_nearest_reports_are_read_in_folds_the_nearest_first():
    primed, chat = prime(says())

    assert titles_read(chat.requests) == [
        [f"topic {number}" for number in range(start, end)]
        for start, end in ((0, 7), (7, 14), (14, 20))
    ]
    assert (primed.read, primed.calls) == (20, 3)


@pytest.mark.parametrize(("count", "calls"), [(2, 1), (7, 1), (8, 2), (15, 3), (30, 3)])
def test_few_reports_are_read_in_fewer_calls(count, calls):
    assert prime(says(), REPORTS[:count])[0].calls == calls


def test_a_fold_is_left_out_where_a_follow_up_would_have_no_call():
    primed, chat = prime(says(), calls=2)

    assert len(chat.requests) == primed.calls == 1
    assert primed.read == 20


def test_a_small_window_reads_fewer_reports():
    long = [make_report(f"topic {number}", "a b c d e " * 200) for number in range(20)]

    primed, chat = prime(says(), long, window=4_000)

    assert 0 < primed.read < 20
    assert len(chat.requests) == 3


def test_every_fold_gives_a_first_answer_the_best_first():
    worth = iter([20, 90, 50])

    def script(request):
        label = next(iter(lines_of(request)))
        return step(f"Said by {label}.", next(worth), [label], [(f"Who is {label}?", 50)])

    primed, _ = prime(script)

    assert [one.point.text for one in primed.points] == [
        "Said by T8.",
        "Said by T15.",
        "Said by T1.",
    ]
    assert [one.follow_ups[0].question for one in primed.replies] == [
        "Who is T1?",
        "Who is T8?",
        "Who is T15?",
    ]


def test_a_lost_fold_leaves_the_others():
    replies = iter([says(answer="A.", score=9, records=["T1"]), "lost", says()])

    def script(request):
        reply = next(replies)
        return ReplyError("No JSON.", code="reply_invalid") if reply == "lost" else reply(request)

    primed, _ = prime(script)

    assert (len(primed.points), primed.lost, primed.read) == (1, 1, 13)


def test_the_answer_rests_on_reports_it_was_given():
    said = says(answer="Said 1. [T2]", score=70, records=["T1", "T99"])

    primed, _ = prime(said, REPORTS[:5])

    [first] = primed.points
    assert first.point.text == "Said 1."
    assert first.point.records == (REPORTS[0].id, REPORTS[1].id)
    assert id_of("Said 1.") in first.point.chunks
    assert primed.foreign == 1


def test_an_answer_that_says_nothing_or_rests_on_nothing_is_none():
    assert prime(says(score=90, records=["T1"]))[0].points == ()
    assert prime(says(answer="A.", score=0, records=["T1"]))[0].points == ()
    assert prime(says(answer="A.", score=90))[0].points == ()


def test_follow_ups_are_given_as_they_were_said():
    said = says(follow_ups=[{"question": "Who?", "score": 3}, "When?"])

    primed, _ = prime(said, REPORTS[:5])

    assert [one.question for one in primed.replies[0].follow_ups] == ["Who?", "When?"]


def test_no_usable_answer_is_a_loss_and_no_empty_answer():
    primed, _ = prime(lambda _: ReplyError("No JSON.", code="reply_invalid"))

    assert primed.lost == 3
    assert (primed.points, primed.replies, primed.read) == ((), (), 0)


# --- which topics are read ------------------------------------------------------------------------


@pytest.fixture
def many(reef):
    """More topics than the first answers read, one of them on tides."""
    for number in range(22):
        quay = reef.document(f"Quay {number}", f"Quay {number} is old.", f"quay {number}")
        reef.topic(f"Quay {number}", {f"Quay {number} is old.": [f"Quay {number}"]}, [quay])
    tide = reef.document("Tide", "The flood drowns the causeway at noon.", "causeway")
    reef.topic("Tides", {"The flood drowns the causeway at noon.": ["Tide"]}, [tide])
    rows.make_snapshot(reef.workspace)
    return reef


def hypothetical(text):
    return lambda _: {"answer": text}


def test_the_topics_nearest_to_a_hypothetical_answer_are_read(many):
    chat = scripted(
        drift_expand=hypothetical("A flood drowns the causeway at noon each day."),
        drift_primer=says(),
        drift_follow=says(),
    )

    found = drift.search(many.query("When is Skarrow cut off?", chat=chat))

    assert chat.requests[0].prompt.name == "drift_expand"
    assert "Tides" in titles_read(asked(chat, "drift_primer"))[0]
    assert dict(found.figures)["find_calls"] == len(chat.requests)


def test_a_hypothetical_answer_is_never_part_of_what_is_found(many):
    invented = "The zeppelin lands on the causeway."
    chat = scripted(
        drift_expand=hypothetical(invented),
        drift_primer=lambda _: step(),
        drift_follow=lambda _: step(),
    )

    found = drift.search(many.query("When is Skarrow cut off?", chat=chat))

    later = [one.prompt.user for one in chat.requests[1:]]
    assert not any("zeppelin" in text for text in later)
    texts = [*(one.text for one in found.points), *(one.text for one in found.records)]
    assert not any("zeppelin" in text for text in texts)


def test_without_a_hypothetical_answer_the_question_ranks_the_topics(many):
    lost = scripted(
        drift_expand=lambda _: ReplyError("No.", code="reply_invalid"),
        drift_primer=says(),
        drift_follow=says(),
    )
    few = scripted(drift_primer=says(), drift_follow=says())

    drift.search(many.query(QUESTION, chat=lost))
    drift.search(many.query(QUESTION, chat=few, calls=2))

    assert titles_read(asked(lost, "drift_primer"))[0][0] == "The Skarrow light"
    assert few.requests[0].prompt.name == "drift_primer"


def test_a_usual_question_over_many_topics_makes_no_more_calls_than_planned(many):
    chat = scripted(
        drift_expand=hypothetical("The flood."),
        drift_primer=lambda _: PRIMER,
        drift_follow=endless,
    )

    drift.search(many.query(QUESTION, chat=chat))

    assert len(chat.requests) == with_chat.PLANNED
    assert [one.prompt.name for one in chat.requests[:4]] == ["drift_expand", *["drift_primer"] * 3]
