from __future__ import annotations

from uuid import UUID

from kb_project.errors import ReplyError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search import global_search
from retrieval.search.global_search import model_calls
from retrieval.search.query import Query, QuestionVector
from retrieval.search.reporting import EventKind
from tests.retrieval.search.global_search.model import point, scripted
from tests.retrieval.search.global_search.shelves import id_of, make_report, ranked

LAMPS = make_report("lamps", "The lamp is trimmed at dusk.", "Oil burns in it.")
ROADS = make_report("roads", "Gravel mends the road.")


class Listener:
    def __init__(self) -> None:
        self.heard: list[object] = []

    def emit(self, kind, payload):
        self.heard.append((kind, payload["name"], payload["sentence"]))

    def check(self):
        """Nobody stops."""


def read(script, *, budget=1_000, reporter=None):
    reporter = reporter or Listener()
    query = Query(
        UUID(int=1),
        "Which lamps?",
        5,
        QuestionVector(FakeEmbedder(), "Which lamps?"),
        reporter=reporter,
    )
    packed = model_calls.pack(ranked(LAMPS, ROADS), budget, {})
    return global_search.read(query, scripted(global_map=script), packed)


def test_a_point_rests_on_the_passages_behind_what_it_repeats():
    found = read(lambda _: {"points": [point("At dusk the lamp is trimmed.", 60, "T1", "T2")]})

    one = found.points[0].point
    assert one.chunks[0] == id_of("The lamp is trimmed at dusk.")
    assert one.records == (LAMPS.id, ROADS.id)


def test_a_point_in_other_words_rests_on_its_reports_alone():
    found = read(lambda _: {"points": [point("黄昏。", 60, "T1")]})

    assert found.points[0].point.chunks == ()
    assert found.points[0].point.records == (LAMPS.id,)


def test_marks_in_the_text_count_as_labels_and_are_not_shown():
    found = read(lambda _: {"points": [point("Trimmed at dusk [T1].", 60)]})

    assert found.points[0].point.text == "Trimmed at dusk."
    assert found.points[0].point.records == (LAMPS.id,)


def test_equal_scores_keep_the_order_of_the_batches():
    def one(request):
        label = "T1" if "T1 " in request.prompt.user else "T2"
        return {"points": [point(f"From {label}.", 50, label)]}

    found = read(one, budget=25)

    assert [one.point.text for one in found.points] == ["From T1.", "From T2."]
    assert found.counts["batches"] == 2


def test_what_is_read_and_lost_is_counted():
    answers = iter([ReplyError("No JSON.", code="reply_invalid"), {"points": []}])

    found = read(lambda _: next(answers), budget=25)

    assert (found.counts["batches"], found.counts["batches_lost"]) == (2, 1)
    assert found.counts["reports_read"] == 1
    assert found.points == []


def test_a_model_that_talks_too_much_is_cut_short():
    many = [point(f"Point {number}.", 50, "T1") for number in range(300)]
    many[0]["description"] = "long " * 9_000

    found = read(lambda _: {"points": many})

    assert len(found.points) == 20
    assert max(len(one.point.text) for one in found.points) <= 2_000


def test_people_are_told_how_much_is_read():
    listener = Listener()

    read(lambda _: {"points": []}, reporter=listener)

    assert listener.heard == [(EventKind.STEP, "read", "Reading 2 topics.")]
