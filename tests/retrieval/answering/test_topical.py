from __future__ import annotations

from uuid import uuid4

import pytest

from retrieval.answering import topical
from retrieval.search.assemble import sentences
from retrieval.search.found import Record, RecordKind
from retrieval.search.sought import read
from tests.retrieval.search.test_assemble import hit


def report(title, text, *hits, kind=RecordKind.REPORT):
    return Record(kind, uuid4(), title, text, tuple(one.chunk_id for one in hits), score=1.0)


def told(hits, *records):
    return [one.sentence.text for one in topical.choose(sentences(hits, {}), records)]


@pytest.mark.parametrize(
    "question",
    [
        "What are the main themes of these documents?",
        "What are these documents about?",
        "Give me an overview of all the documents",
        "What recurring themes run through the documents?",
        "What topics do the documents cover?",
        "Summarize everything",
        "这些文件的主要内容是什么？",
    ],
)
def test_a_question_about_everything_names_no_subject(question):
    assert topical.is_asked(read(question))


@pytest.mark.parametrize(
    "question",
    [
        "What are the main lessons of the fire?",
        "What are the main risks across all documents?",
        "Who lit the lamp?",
        "What is it?",
        "",
    ],
)
def test_a_question_with_a_subject_is_answered_by_its_sentences(question):
    assert not topical.is_asked(read(question))


def test_each_topic_says_one_sentence_of_its_report_best_first():
    roads = hit("Every road of the valley is mended by Per Holm in spring.")
    light = hit(
        "The weather was bad all week. Ada Lind keeps the lamp of Skarrow Light all winter."
    )

    found = told(
        [light, roads],
        report("Per Holm and the valley", roads.text, roads),
        report("Ada Lind and Skarrow Light", light.text, light),
    )

    assert found == [
        "Every road of the valley is mended by Per Holm in spring.",
        "Ada Lind keeps the lamp of Skarrow Light all winter.",
    ]


def test_two_topics_with_the_same_sentence_say_it_once():
    light = hit("Ada Lind keeps the lamp of Skarrow Light all winter.")

    found = told([light], report("Ada Lind", light.text, light), report("Light", light.text, light))

    assert found == ["Ada Lind keeps the lamp of Skarrow Light all winter."]


def test_only_what_the_report_says_stands_for_its_topic():
    light = hit("Ada Lind keeps the lamp of Skarrow Light all winter.")

    assert told([light], report("Ada Lind", "A report that says something else.", light)) == []
    assert told([light], report("Ada Lind", light.text, hit("Another passage."))) == []


def test_neither_lines_of_records_nor_sentences_that_lean_on_others_stand_for_a_topic():
    row = hit("lead: Ada Lind, keeper of the lamp of Skarrow Light in winter.")
    leaning = hit("She keeps the lamp of Skarrow Light all winter with two other keepers.")

    assert told([row], report("Ada Lind", row.text, row)) == []
    assert told([leaning], report("Ada Lind", leaning.text, leaning)) == []


def test_records_that_are_no_reports_are_left_out_and_there_is_an_end():
    hits = [
        hit(f"Keeper number {n} trims the lamp of tower number {n} at night.") for n in range(9)
    ]
    entity = report("Lamp", hits[0].text, hits[0], kind=RecordKind.ENTITY)
    reports = [report(f"Tower {n}", one.text, one) for n, one in enumerate(hits)]

    assert told(hits, entity) == []
    assert len(told(hits, *reports)) == topical.MOST
