from __future__ import annotations

import pytest

from retrieval.answering import features
from retrieval.answering.features import length_of
from tests.retrieval.answering.passages import gathered, hit


def row(question, *hits, said):
    made = gathered(question, *hits)
    (place,) = (i for i, one in enumerate(made.statements) if one.said == said)
    return dict(zip(features.NAMES, made.matrix[place].tolist(), strict=True))


def test_a_statement_has_the_share_of_the_question_that_it_covers():
    passage = hit("The lamp burns oil by night. The quarry road is closed.")

    burns = row("What does the lamp burn?", passage, said="The lamp burns oil by night.")
    closed = row("What does the lamp burn?", passage, said="The quarry road is closed.")

    assert (burns["covers"], burns["words"]) == (1.0, 1.0)
    assert (closed["covers"], closed["words"]) == (0.0, 0.0)


def test_what_title_headings_and_the_sentence_before_cover_counts_apart():
    passage = hit("It burns oil by night.", title="Lamp", headings=("Skarrow",))

    told = row("What burns in the lamp of Skarrow?", passage, said="It burns oil by night.")

    assert 0 < told["covers"] < 1
    assert told["covers"] + told["covers_around"] == pytest.approx(1.0)
    assert told["leans"] == 1.0


def test_a_date_where_one_is_asked_for_counts_and_one_of_the_question_does_not():
    passage = hit("The lamp was lit in 1866. The lamp was dark by day.")

    lit = row("When was the lamp lit?", passage, said="The lamp was lit in 1866.")
    dark = row("When was the lamp lit?", passage, said="The lamp was dark by day.")
    known = row("When in 1866 was the lamp lit?", passage, said="The lamp was lit in 1866.")

    assert (lit["has_kind"], lit["lacks_kind"]) == (1.0, 0.0)
    assert (dark["has_kind"], dark["lacks_kind"]) == (0.0, 1.0)
    assert known["has_kind"] == 0.0


def test_passages_count_by_their_rank():
    first, second = hit("The lamp burns oil."), hit("The boat burns coal.")

    assert row("What burns?", first, second, said="The lamp burns oil.")["rank"] == 1.0
    assert row("What burns?", first, second, said="The boat burns coal.")["rank"] == 0.5


def test_chinese_is_measured_in_words_of_about_as_much():
    assert length_of("The lamp burns oil") == 4
    assert length_of("灯塔烧油灯塔烧油") == pytest.approx(8 / features.HAN_PER_WORD + 1)
