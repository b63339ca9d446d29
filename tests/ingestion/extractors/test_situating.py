from __future__ import annotations

import time

import pytest

from ingestion.extractors.situating import LONGEST_CONTEXT, enclosing, heading_path, situate

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
