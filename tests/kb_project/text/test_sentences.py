from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from kb_project.llm.tokens import token_starts
from kb_project.text.sentences import (
    LONGEST_SENTENCE,
    Span,
    sentence_spans,
    split_fixed,
    split_sentences,
    split_tokens,
    token_range,
)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Mr. Scrooge met Dr. Marley in St. Mary's Church.",
        "J. R. R. Tolkien wrote it.",
        "It rose by 3.5 percent to No. 5 on the list.",
        "She works for Acme Inc. in Boston.",
        "The U.S. Army left at 6 p.m. sharp.",
        "He asked “Why?” and left.",
        "See e.g. Smith et al. (2004) for details.",
        "Wait... what happened then?",
        "A line that is\nwrapped by hand.",
        "The farmers were called hreppar (sing. hreppr) . . . the hreppr were self-governing.",
        "They settled . . .\n[and] guided . . .[and] led themselves.",
        "He counts 1, 2, . . ., 10 lamps.",
        "Hipparchus (2nd ct. BCE) cites Eudoxus.",
        "It is told [Byock, Op. Cit. 47] of Iceland (ibid. 43).",
    ],
)
def test_one_sentence_stays_whole(sentence):
    assert sentences(sentence) == [sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It ended. Then it began.", ["It ended.", "Then it began."]),
        ("The answer is no. He left.", ["The answer is no.", "He left."]),
        ("He joined Acme Inc. The firm grew.", ["He joined Acme Inc.", "The firm grew."]),
        ("It is kept in lamp.toml. Note it.", ["It is kept in lamp.toml.", "Note it."]),
        ("It lies at lamp.io. lens.io has more.", ["It lies at lamp.io.", "lens.io has more."]),
        ("“Stop!” She ran.", ["“Stop!”", "She ran."]),
        ("他走了。为什么？“不知道。”", ["他走了。", "为什么？", "“不知道。”"]),
        ("# Heading\n\nText here", ["# Heading", "Text here"]),
        ("Things:\n- one\n- two", ["Things:", "- one", "- two"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("a = 1;\nb = 2;", ["a = 1;", "b = 2;"]),
        ("It was lit . . . Ada left.", ["It was lit . . .", "Ada left."]),
        ("“It was lit . . . .” She left.", ["“It was lit . . . .”", "She left."]),
        ("It was.\n[Op. Cit., p. 4] Ada left.", ["It was.", "[Op. Cit., p. 4]", "Ada left."]),
        ("It was. [Lens! A Book, p. 4] It is.", ["It was.", "[Lens! A Book, p. 4]", "It is."]),
        ("It was. [They] left it.", ["It was.", "[They] left it."]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text, expected):
    assert sentences(text) == expected


def test_clauses_on_lines_of_their_own_are_not_joined():
    text = "1.1 Guests, if\n  (a) they pay\n    (ii) in cash\n1.2 Staff\nalways\n1.3 Dogs never"

    assert sentences(text) == [
        "1.1 Guests, if",
        "(a) they pay",
        "(ii) in cash",
        "1.2 Staff\nalways\n1.3 Dogs never",
    ]
    assert sentences("It was released as version\n2.6 Linux could run it.") == [
        "It was released as version\n2.6 Linux could run it."
    ]


def test_a_stretch_without_a_full_stop_is_cut_at_spaces():
    found = sentences("word " * 2_000)

    assert all(len(piece) <= LONGEST_SENTENCE for piece in found)
    assert all(piece.endswith("word") for piece in found)


@given(st.text(alphabet="aB. !?\n。“”1;", max_size=200))
def test_spans_are_ordered_trimmed_and_lose_nothing_but_white_space(text):
    spans = sentence_spans(text)

    kept = "".join(text[start:end] for start, end in spans)
    assert "".join(kept.split()) == "".join(text.split())
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    "unit", ["a", " ", "\n ", ". ", "。", '."', "Mr. ", "; ", ". [p. 1] ", ". ["]
)
def test_one_huge_line_loses_nothing_and_comes_to_an_end(unit):
    """In quadratic time it would take minutes."""
    line = unit * (200_000 // len(unit))

    spans = sentence_spans(line)

    kept = sum(len("".join(line[start:end].split())) for start, end in spans)
    assert kept == len("".join(line.split()))


STORY = (
    "Ada Lind keeps the light of Skarrow. She trims the wick at dusk. The oil comes from Strand."
    " It is carried up the stairs by hand. In winter the stairs are wet. Nobody has fallen yet."
)
# Words, spaces, line ends, sentence ends, wide characters, characters of several bytes.
TEXTS = st.text(alphabet="ab .\n!?é海灯。\t\u2003🙂", max_size=300)
SIZES = st.integers(min_value=1, max_value=40)


def tokens(text: str, *, size: int, overlap: int = 0, headings: tuple[int, ...] = ()) -> list[Span]:
    return split_tokens(
        text, starts=token_starts(text), size=size, overlap=overlap, headings=headings
    )


def some_sentences(text: str, *, size: int = 100) -> list[Span]:
    return split_sentences(text, starts=token_starts(text), size=size)


def fixed(text: str, *, size: int, overlap: int = 0) -> list[Span]:
    return split_fixed(text, starts=token_starts(text), size=size, overlap=overlap)


def cut(text: str, spans: list[Span]) -> list[str]:
    return [text[start:end] for start, end in spans]


def covered(text: str, spans: list[Span]) -> str:
    inside = {place for start, end in spans for place in range(start, end)}
    return "".join(c for place, c in enumerate(text) if place in inside and not c.isspace())


def count(text: str, span: Span) -> int:
    first, last = token_range(token_starts(text), *span)
    return last - first


# --- token windows --------------------------------------------------------------------------------
def test_a_short_text_is_one_span():
    assert tokens(STORY, size=800) == [(0, len(STORY))]


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t"])
def test_a_text_without_anything_in_it_has_no_spans(text: str):
    assert tokens(text, size=10) == some_sentences(text) == fixed(text, size=10) == []


def test_windows_are_whole_sentences():
    found = cut(STORY, tokens(STORY, size=20))

    assert len(found) > 1
    assert all(piece.endswith(".") for piece in found)
    assert all(piece[0].isupper() for piece in found)


def test_a_window_is_as_full_as_whole_sentences_allow():
    spans = tokens(STORY, size=20)

    assert all(count(STORY, span) <= 20 for span in spans)
    # The next sentence would not have fitted.
    for (start, _), (_, after) in pairwise(spans):
        assert count(STORY, (start, after)) > 20


def test_neighbours_share_whole_sentences_within_the_overlap():
    spans = tokens(STORY, size=24, overlap=12)

    shared = [
        STORY[second_start:first_end] for (_, first_end), (second_start, _) in pairwise(spans)
    ]
    assert any(shared)
    assert all(piece.strip().endswith(".") for piece in shared if piece.strip())
    assert all(
        count(STORY, (second_start, first_end)) <= 12
        for (_, first_end), (second_start, _) in pairwise(spans)
        if second_start < first_end
    )


def test_without_an_overlap_nothing_is_said_twice():
    spans = tokens(STORY, size=20)

    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_a_sentence_longer_than_a_window_is_cut():
    endless = "oil " * 200

    spans = tokens(endless, size=50)

    assert len(spans) >= 4
    assert all(count(endless, span) <= 50 for span in spans)


def test_a_new_section_begins_a_chunk_of_its_own_when_the_one_before_is_half_full():
    text = f"{STORY}\n\n# Storms\n\nThe door of the gallery broke."
    heading = text.index("# Storms")

    first, second = tokens(text, size=60, headings=(heading,))

    assert text[slice(*first)] == STORY
    assert text[slice(*second)].startswith("# Storms")


def test_short_sections_share_a_chunk():
    text = "# One\n\nOil.\n\n# Two\n\nWick.\n\n# Three\n\nLens."
    headings = tuple(text.index(f"# {name}") for name in ("One", "Two", "Three"))

    assert len(tokens(text, size=800, headings=headings)) == 1


def test_a_window_that_ends_before_a_heading_shares_nothing_with_the_next():
    text = f"{STORY}\n\n# Storms\n\nThe door of the gallery broke."
    heading = text.index("# Storms")

    first, second = tokens(text, size=60, overlap=30, headings=(heading,))

    assert second[0] >= first[1]


def test_an_overlap_never_swallows_the_window():
    spans = tokens(STORY, size=10, overlap=1000)

    starts = [start for start, _ in spans]
    assert starts == sorted(set(starts))


def test_ten_thousand_headings_are_cut_in_reasonable_time():
    text = "\n\n".join(f"# Heading {number}\n\nOil." for number in range(10_000))
    headings = tuple(
        place for place, character in enumerate(text) if character == "#" and text[place + 1] == " "
    )

    spans = tokens(text, size=800, overlap=100, headings=headings)

    assert covered(text, spans) == "".join(text.split())


# --- the others -----------------------------------------------------------------------------------
def test_each_sentence_by_itself():
    assert cut(STORY, some_sentences(STORY))[:2] == [
        "Ada Lind keeps the light of Skarrow.",
        "She trims the wick at dusk.",
    ]


def test_chinese_sentences_end_with_their_own_stops():
    text = "灯塔在北面。风很大！船来了吗？"

    assert cut(text, some_sentences(text)) == ["灯塔在北面。", "风很大！", "船来了吗？"]


def test_fixed_windows_count_tokens_whatever_they_cut():
    spans = fixed(STORY, size=10)

    assert [count(STORY, span) for span in spans[:-1]] == [10] * (len(spans) - 1)


def test_fixed_windows_share_exactly_their_overlap():
    spans = fixed(STORY, size=10, overlap=4)

    for (_, first_end), (second_start, _) in pairwise(spans):
        assert count(STORY, (second_start, first_end)) == 4


def test_a_word_is_counted_with_the_span_it_stands_in():
    starts = token_starts("Oil and light.")

    # The token of "and" begins with the space before it.
    assert [token_range(starts, *span) for span in ((0, 3), (4, 7), (8, 14))] == [
        (0, 1),
        (1, 2),
        (2, 4),
    ]


# --- what holds for every text --------------------------------------------------------------------
@given(TEXTS, SIZES, st.integers(min_value=0, max_value=60))
def test_token_windows_keep_every_character(text: str, size: int, overlap: int):
    assert_sound(text, tokens(text, size=size, overlap=overlap))


@given(TEXTS, SIZES)
def test_sentences_keep_every_character(text: str, size: int):
    assert_sound(text, some_sentences(text, size=size))


@given(TEXTS, SIZES, st.integers(min_value=0, max_value=60))
def test_fixed_windows_keep_every_character(text: str, size: int, overlap: int):
    assert_sound(text, fixed(text, size=size, overlap=overlap))


@given(TEXTS, SIZES, st.data())
def test_headings_lose_nothing(text: str, size: int, data: st.DataObject):
    places = st.integers(min_value=0, max_value=max(0, len(text) - 1))
    headings = tuple(sorted(data.draw(st.sets(places, max_size=6))))

    assert_sound(text, tokens(text, size=size, overlap=size // 3, headings=headings))


def assert_sound(text: str, spans: list[Span]) -> None:
    """Spans ascend, are trimmed, and together hold everything that is not white space."""
    assert covered(text, spans) == "".join(c for c in text if not c.isspace())
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert all(start < end and text[start:end] == text[start:end].strip() for start, end in spans)
