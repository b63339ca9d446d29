from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from ingestion.extractors.situating import (
    LONGEST_ANSWER,
    LONGEST_CONTEXT,
    cleaned,
    enclosing,
    heading_path,
    shortened,
    situate,
)
from kb_project.llm.tokens import count_tokens
from tests.patience import PATIENCE

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


def test_a_huge_line_costs_no_hours():
    text = " " * 2_000_000 + "x" * 2_000_000
    started = time.perf_counter()

    situate(text, title="t", headings=[], start=3_000_000, end=3_001_000)

    assert time.perf_counter() - started < PATIENCE


CHUNK = "Bo Strand sells oil."


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
