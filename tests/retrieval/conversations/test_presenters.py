from __future__ import annotations

import pytest

from ingestion.models import Chunk
from retrieval.conversations.presenters import passages

TEXT = "Before it all. " * 20 + "**The cited one.** " + "After it all. " * 40


def chunk() -> Chunk:
    return Chunk(start=100, end=100 + len(TEXT), text=TEXT)


def span() -> tuple[int, int]:
    start = 100 + TEXT.index("**The")
    return start, start + len("**The cited one.**")


def test_a_passage_shows_the_cited_words_without_their_marks():
    passage = passages.passage_of(chunk(), *span())

    assert passage.quote == "The cited one."


def test_a_passage_is_clipped_at_words_and_says_so():
    passage = passages.passage_of(chunk(), *span())

    assert passage.clipped_before
    assert passage.clipped_after
    assert len(passage.before) <= passages.BEFORE
    assert len(passage.after) <= passages.AFTER
    assert passage.before.split()[0] in TEXT.split()


def test_a_passage_at_the_edge_of_its_chunk_is_not_clipped_there():
    whole = Chunk(start=0, end=9, text="Only this")

    passage = passages.passage_of(whole, 0, 9)

    assert not passage.clipped_before
    assert not passage.clipped_after


TABLE = (
    "The board:\n\n| Name | Role | Year |\n| --- | --- | --- |\n| Bo Strand | Treasurer | 2017 |\n"
    "| Ruth Adeyemi | Chair | 2019 |\n| Tomas Lindgaard | Clerk | 2020 |\n\nAll were elected."
)


@pytest.mark.parametrize(
    ("cited", "shown"),
    [
        (
            "| Ruth Adeyemi | Chair | 2019 |\n",
            "Bo Strand · Treasurer · 2017 · **Ruth Adeyemi · Chair · 2019** · Tomas Lindgaard",
        ),
        ("Ruth Adeyemi | Chair", "2017 · **Ruth Adeyemi · Chair** · 2019 · Tomas"),
        ("Chair", "Ruth Adeyemi · **Chair** · 2019"),
        ("| Tomas Lindgaard | Clerk | 2020 |", "Clerk · 2020**\nAll were elected."),
        ("| Bo Strand | Treasurer | 2017 |", "Year · **Bo Strand"),
        ("The board:", "**The board:**\nName · Role"),
    ],
)
def test_a_passage_of_a_table_keeps_its_rows_and_cells_apart(cited: str, shown: str):
    start = TABLE.index(cited)
    chunk = Chunk(start=0, end=len(TABLE), text=TABLE)

    passage = passages.passage_of(chunk, start, start + len(cited))

    assert shown in f"{passage.before}**{passage.quote}**{passage.after}"


def test_a_shortfall_names_the_words_a_passage_lacks():
    assert passages.shortfall("How many keepers were on Mars?", "The keepers were three.") == (
        "It does not mention “Mars”.",
    )


def test_a_passage_with_all_words_of_the_question_lacks_none():
    assert passages.shortfall("Who lit the lamp?", "Somebody lit the lamp.") == ()


def test_a_hit_is_shown_from_its_most_telling_sentence():
    text = "It was dark. Ada lit the lamp. She slept."

    start, end = passages.telling_span("Who lit the lamp?", text)

    assert text[start:end] == "Ada lit the lamp."


def test_a_hit_without_a_word_of_the_question_is_shown_from_its_beginning():
    assert passages.telling_span("Who?", "One thing. Another.") == (0, 10)
    assert passages.telling_span("Who?", "") == (0, 0)
