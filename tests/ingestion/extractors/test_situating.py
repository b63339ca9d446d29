from __future__ import annotations

import time
from itertools import groupby

import pytest
from hypothesis import given, strategies as st

from ingestion.extractors.situating import (
    LONGEST_ANSWER,
    LONGEST_CONTEXT,
    LONGEST_PASSAGE,
    PROMPT_TOKENS,
    SAFE_SHARE,
    cleaned,
    enclosing,
    heading_path,
    passage,
    prefixes,
    shortened,
    situate,
    window_around,
)
from kb_project.llm.tokens import count_tokens, token_starts

CODE = """\
class Executor:
    def run_target(
        self, fuzzer
    ) -> ExitKind:
        self.prepare()
        if fuzzer.ready:
            return fuzzer.go()
"""
HEADINGS = [(1, "Guide", 0), (2, "Install", 10), (3, "Linux", 20), (2, "Use", 40)]


def test_a_chunk_in_the_middle_of_code_is_under_its_class_and_function():
    start = CODE.index("        self.prepare")

    assert enclosing(CODE, start, len(CODE)) == ["class Executor:", "def run_target("]


def test_a_chunk_that_begins_in_mid_line_is_read_from_its_line():
    assert enclosing(CODE, CODE.index("prepare"), len(CODE))[-1] == "def run_target("


@pytest.mark.parametrize(
    "line", ["} // end", "public:", "# note", "@Override", "*/", ")", "else {"]
)
def test_brackets_labels_and_comments_enclose_nothing(line):
    text = f"class A {{\n{line}\n    int x;\n"

    assert enclosing(text, text.index("    int"), len(text)) == ["class A {"]


def test_flat_prose_is_enclosed_by_nothing():
    text = "A line.\nAnother line.\nA third."

    assert enclosing(text, text.index("A third"), len(text)) == []


def test_a_blank_chunk_is_enclosed_by_nothing():
    assert enclosing("class A:\n   \n   \n", 9, 16) == []


@pytest.mark.parametrize(
    ("start", "titles"),
    [(0, []), (5, ["Guide"]), (25, ["Guide", "Install", "Linux"]), (50, ["Guide", "Use"])],
)
def test_the_heading_path_is_what_a_chunk_lies_under(start, titles):
    assert [title for _, title, _ in heading_path(HEADINGS, start)] == titles


def test_a_context_names_document_headings_and_surroundings():
    text = "x" * 30 + "\n" + CODE
    start = text.index("        self.prepare")

    context = situate(text, title="Fuzzing", headings=HEADINGS[:2], start=start, end=len(text))

    assert context == "Fuzzing\nGuide › Install\nclass Executor:\ndef run_target("


def test_a_title_that_is_also_the_only_heading_is_said_once():
    context = situate("Notes\n\ntext", title="Notes", headings=[(1, "Notes", 0)], start=7, end=11)

    assert context == "Notes"


def test_a_context_never_drowns_its_chunk():
    headings = [(level, "Very long heading " * 20, level) for level in range(1, 7)]

    context = situate("x" * 100, title="T" * 500, headings=headings, start=50, end=60)

    assert len(context) <= LONGEST_CONTEXT


def test_a_huge_line_costs_nothing():
    text = " " * 2_000_000 + "x" * 2_000_000
    started = time.perf_counter()

    situate(text, title="t", headings=[], start=3_000_000, end=3_001_000)

    assert time.perf_counter() - started < 1


LONG = "".join(
    f"Entry {number}: Ada Lind trims lamp {number} of Skarrow.\n" for number in range(900)
)
CHUNK = "Bo Strand sells oil."


def spans(text: str, size: int = 600) -> list[tuple[int, int]]:
    return [(start, min(start + size, len(text))) for start in range(0, len(text), size)]


# --- what is shown --------------------------------------------------------------------------------
def test_a_document_that_fits_is_shown_whole_for_every_passage():
    text = LONG[:3000]

    assert prefixes(text, spans(text), limit=16_000) == [text] * len(spans(text))


def test_a_long_document_is_shown_around_the_passage_behind_its_beginning():
    shown = prefixes(LONG, spans(LONG), limit=4_000)

    for (start, end), prefix in zip(spans(LONG), shown, strict=True):
        assert LONG[start:end] in prefix
        assert prefix.startswith(LONG[:500])


def test_what_is_shown_fits_with_passage_and_prompt():
    limit = 4_000

    shown = prefixes(LONG, spans(LONG), limit=limit)

    longest = max(count_tokens(LONG[start:end]) for start, end in spans(LONG))
    room = limit * SAFE_SHARE - PROMPT_TOKENS - longest
    assert max(map(count_tokens, shown)) <= room + 10  # the mark of the gap


def test_neighbours_are_shown_the_same_so_that_the_prefix_is_cached():
    shown = prefixes(LONG, spans(LONG), limit=4_000)

    runs = [len(list(same)) for _, same in groupby(shown)]
    assert sum(runs) / len(runs) > 4
    assert len(runs) == len(set(shown))  # what was left behind does not come back


def test_the_end_of_a_document_is_shown_to_its_last_passage():
    assert prefixes(LONG, spans(LONG), limit=4_000)[-1].endswith(LONG[-200:])


def test_no_room_at_all_shows_nothing_and_does_not_fail():
    shown = prefixes(LONG, spans(LONG), limit=10)

    assert len(shown) == len(spans(LONG))
    assert max(map(len, shown)) < 100


def test_a_document_without_passages_is_shown_to_nobody():
    assert prefixes("", [], limit=1000) == []


@given(
    words=st.integers(1, 400),
    first=st.integers(0, 399),
    length=st.integers(1, 30),
    size=st.integers(80, 300),
)
def test_a_window_holds_its_passage(words: int, first: int, length: int, size: int):
    text = " ".join(["oil"] * words)
    starts = token_starts(text)
    first = min(first, words - 1)
    start = int(starts[first])
    last = first + length
    end = int(starts[last]) if last < words else len(text)

    window = window_around(text, starts, (start, end), size=size)

    assert window.start <= start
    assert end <= window.end


def test_a_passage_without_end_is_shown_by_its_beginning():
    assert count_tokens(passage("lamp oil " * 5000)) <= LONGEST_PASSAGE


# --- what is taken --------------------------------------------------------------------------------
PLAIN = "From the log of Skarrow, 1848: who sells the oil."


@pytest.mark.parametrize(
    "answer",
    [
        PLAIN,
        f"  {PLAIN}\n",
        f"Here is the context: {PLAIN}",
        f"Here's a short context to situate the passage:\n\n{PLAIN}",
        f"Sure! Here is the context:\n{PLAIN}",
        f"**Context:** {PLAIN}",
        f'"{PLAIN}"',
        f"```text\n{PLAIN}\n```",
        f"<think>The passage is about\noil.</think>{PLAIN}",
        f"<passage>{PLAIN}</passage>",
        f"{PLAIN}\0",
        PLAIN.replace(", ", ",\n"),
    ],
)
def test_what_stands_around_an_answer_is_taken_off(answer: str):
    assert cleaned(answer, chunk=CHUNK) == PLAIN


@pytest.mark.parametrize(
    "answer", ["", " \n", "```\n```", "…", "<think>on and on", CHUNK, "Bo Strand"]
)
def test_an_answer_that_says_nothing_is_none(answer: str):
    assert cleaned(answer, chunk=CHUNK) == ""


def test_a_long_answer_ends_with_a_sentence():
    kept = cleaned("The keeper of Skarrow writes down who sells oil. " * 60, chunk=CHUNK)

    assert count_tokens(kept) <= LONGEST_ANSWER
    assert kept.endswith("oil.")


def test_a_long_sentence_is_cut_and_says_so():
    kept = shortened("oil and " * 300)

    assert kept.endswith("…")
    assert count_tokens(kept) <= LONGEST_ANSWER + 2


def test_chinese_is_cut_at_its_full_stop():
    assert shortened("灯塔在北面。" * 80).endswith("。")


@given(st.text(max_size=400))
def test_whatever_a_model_says_is_one_storable_line(answer: str):
    kept = cleaned(answer, chunk=CHUNK)

    assert "\0" not in kept
    assert "\n" not in kept
    assert count_tokens(kept) <= LONGEST_ANSWER + 2
