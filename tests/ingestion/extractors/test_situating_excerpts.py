from __future__ import annotations

from itertools import groupby, takewhile

import pytest
from hypothesis import given, strategies as st

from ingestion.extractors import situating_excerpts as sizes
from ingestion.extractors.situating_excerpts import (
    GAP,
    LONGEST_PASSAGE,
    NEAR,
    OUTLINE,
    PROMPT_TOKENS,
    SAFE_SHARE,
    SYSTEM_TOKENS,
    WHOLE,
    Excerpt,
    excerpts,
    full_names,
    passage,
    prompt_tokens,
    window_around,
)
from ingestion.stages.situate import PROMPT
from kb_project.llm import openai_client
from kb_project.llm.tokens import count_tokens, token_starts
from kb_project.prompt import fenced, load

WINDOW = 16_000
LONG = "".join(
    f"Entry {number}: Ada Lind trims lamp {number} of Skarrow.\n" for number in range(900)
)
PARTS = [(1 + number % 3, f"Part {number}", 1_000 * number) for number in range(1, 40)]


def spans(text: str, size: int = 600) -> list[tuple[int, int]]:
    return [(start, min(start + size, len(text))) for start in range(0, len(text), size)]


def shown(text: str, *, limit: int = WINDOW, title: str = "Log", size: int = 600) -> list[str]:
    return [
        excerpt.common + excerpt.near
        for excerpt in found(text, limit=limit, title=title, size=size)
    ]


def found(text: str, *, limit: int = WINDOW, title: str = "Log", size: int = 600) -> list[Excerpt]:
    headings = [heading for heading in PARTS if heading[2] < len(text)]
    return excerpts(text, spans(text, size), title=title, headings=headings, limit=limit)


def test_a_document_up_to_the_threshold_is_shown_whole_for_every_passage():
    text = LONG[: LONG.index("Entry 500")]
    assert WHOLE * 0.8 < count_tokens(text) <= WHOLE

    assert found(text) == [Excerpt(text)] * len(spans(text))


def test_of_a_longer_document_the_outline_and_the_surroundings_are_shown():
    for (start, end), text in zip(spans(LONG), shown(LONG), strict=True):
        assert LONG[start:end] in text
        assert text.startswith(f"Log{GAP}## Part 1\n### Part 2\n# Part 3\n")
        assert f"{GAP}{LONG[:500]}" in text
        assert count_tokens(text) <= OUTLINE + NEAR + 60  # the title, the path and the gaps


def test_names_in_full_are_shown_to_passages_far_from_them():
    half = LONG.index("Entry 500")
    text = f"{LONG[:half]}Oil is sold by Bo Strand of Tern Rock.\n{LONG[half:]}"

    texts = shown(text)

    assert all("Ada Lind, Bo Strand, Tern Rock" in one for one in texts)


def test_in_a_script_without_capitals_there_are_no_names():
    assert full_names("灯塔在北面。灯油由博卖。", most=100) == ""


def test_names_beyond_their_share_are_left_out_whole():
    names = [f"Ada Lind{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(600)]

    kept = full_names(". ".join(names), most=100)

    assert count_tokens(kept) <= 100
    assert set(kept.split(", ")) < set(names)


def test_a_title_that_the_opening_names_is_not_repeated():
    assert shown(LONG, title="Entry 0: Ada Lind")[-1].startswith("## Part 1\n")


def test_surroundings_stand_under_their_headings():
    last = found(LONG)[-1].near

    assert last.startswith(f"{GAP}# Part 36\n## Part 37\n\nEntry 8")


def test_too_many_headings_are_shown_as_deep_as_there_is_room():
    headings = [
        (1 + (number % 10 > 0), f"Heading number {number}", number) for number in range(300)
    ]

    [excerpt, *_] = excerpts(LONG, spans(LONG), title="Log", headings=headings, limit=WINDOW)

    assert "# Heading number 290" in excerpt.common
    assert "## " not in excerpt.common


def test_a_thousand_chapters_take_no_more_than_their_share():
    headings = [(1, f"Heading number {number}", number) for number in range(1_000)]

    [excerpt, *_] = excerpts(LONG, spans(LONG), title="Log", headings=headings, limit=WINDOW)

    listed = excerpt.common.split(GAP)[1]
    assert listed.startswith("# Heading number 0\n")
    assert count_tokens(listed) <= sizes.HEADINGS


def test_the_outline_is_the_same_for_all_passages_and_enough_for_a_prefix_cache():
    [outline] = {excerpt.common for excerpt in found(LONG)}

    system = load(PROMPT).system
    assert count_tokens(system) == SYSTEM_TOKENS
    assert count_tokens(system) + count_tokens(outline) >= openai_client.LEAST


def test_neighbours_share_their_surroundings():
    near = [excerpt.near for excerpt in found(LONG)]

    runs = [len(list(same)) for _, same in groupby(near)]
    assert sum(runs) / len(runs) > 2
    assert len(runs) == len(set(near))  # what was left behind does not come back


def test_in_a_small_window_what_is_shown_fits_with_passage_and_prompt():
    limit = 3_000

    longest = max(count_tokens(LONG[start:end]) for start, end in spans(LONG))
    room = limit * SAFE_SHARE - PROMPT_TOKENS - longest
    assert max(map(count_tokens, shown(LONG, limit=limit))) <= room + 60
    assert len(set(shown(LONG, limit=limit))) > 10


def test_the_end_of_a_document_is_shown_to_its_last_passage():
    assert shown(LONG)[-1].endswith(LONG[-200:])


def test_no_room_at_all_shows_nothing_and_does_not_fail():
    assert len(shown(LONG, limit=10)) == len(spans(LONG))
    assert max(map(len, shown(LONG, limit=10))) < 100


def test_a_document_without_passages_is_shown_to_no_one():
    assert excerpts("", [], title="Log", headings=[], limit=1000) == []


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


# --- how many tokens that is ----------------------------------------------------------------------
def filled(excerpt: Excerpt, chunk: str) -> str:
    prompt = load(PROMPT).fill(
        document=fenced(excerpt.common + excerpt.near, "document"), chunk=fenced(chunk)
    )
    return f"{prompt.system}\n{prompt.user}"


def alike(one: str, other: str) -> str:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(character for character, _ in pairs)


@pytest.mark.parametrize("length", [12_000, 30_000, len(LONG)])
def test_the_tokens_promised_are_those_of_the_prompts_within_a_tenth(length: int):
    text, size = LONG[:length], 2_000
    prompts = [
        filled(excerpt, text[start:end])
        for excerpt, (start, end) in zip(found(text, size=size), spans(text, size), strict=True)
    ]
    seen: list[str] = []
    sent = again = 0
    for prompt in prompts:
        shared = max((alike(prompt, other) for other in seen), key=len, default="")
        again += openai_client.from_cache(count_tokens(shared))
        sent += count_tokens(prompt)
        seen.append(prompt)

    promised = prompt_tokens(count_tokens(text), len(prompts), limit=WINDOW)

    assert promised.sent == pytest.approx(sent, rel=0.1)
    assert promised.cached == pytest.approx(again, rel=0.15)


def test_a_document_of_one_passage_takes_no_tokens():
    assert prompt_tokens(500, 1, limit=WINDOW).sent == 0
