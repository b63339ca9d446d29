"""What holds of every extraction: offsets cut the surface, order, relations inside the text."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from ingestion.extractors import chinese, patterns
from ingestion.extractors.english import extract_many, quoted_titles
from ingestion.extractors.extraction import (
    LONGEST_SURFACE,
    LONGEST_WINDOW,
    NAME,
    Extraction,
    FoundMention,
    joined,
    windows,
)
from ingestion.extractors.mentions import by_sentence, longest, mention, together
from ingestion.extractors.titles import known_name_mentions, naming_key, with_title
from kb_project.text.sentences import sentence_spans

PIECES = [
    "Ada Lind", "the light of Skarrow", "keeps", ".", ". ", "\n", "\n\n", "’s", "“Dark River”",
    "朱元璋", "的父亲", "是", "《明史》", "查尔斯·狄更斯", "。", "class HashBuilder(BaseNode):\n",
    "run_target", "é", "😀", "12", "Jean de La Fontaine", ", ", " ", '"', "«Été»", "Mr.",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join)
READERS: dict[str, Callable[[str], Extraction]] = {
    "capitals": lambda text: patterns.extract_names(text, "fr"),
    "capital nouns": lambda text: patterns.extract_names(text, "de"),
    "chinese": chinese.extract,
    "code": patterns.extract_symbols,
}


def assert_fits(text: str, found: Extraction) -> None:
    for one in found.mentions:
        assert " ".join(text[one.start : one.end].split()) == " ".join(one.surface.split())
        assert one.surface
    assert all(left.end <= right.start for left, right in pairwise(found.mentions))
    for relation in found.relations:
        assert relation.source != relation.target
        assert 0 < relation.strength <= 1
        for end in (relation.source, relation.target):
            named = found.mentions[end]
            assert relation.start <= named.start
            assert named.end <= relation.end


@pytest.mark.parametrize("reader", READERS)
@given(text=TEXTS)
def test_offsets_always_cut_the_name_out_of_the_text(reader: str, text: str):
    assert_fits(text, READERS[reader](text))


@settings(max_examples=25)
@given(TEXTS)
def test_english_is_cut_as_exactly(text: str):
    assert_fits(text, extract_many([text])[0])


@pytest.mark.parametrize("reader", READERS)
@given(text=TEXTS, offset=st.integers(0, 10_000))
def test_what_is_found_can_be_moved_and_stored(reader: str, text: str, offset: int):
    found = READERS[reader](text)

    stored = Extraction.from_json(json.loads(json.dumps(found.shifted(offset).as_json())))

    assert stored.shifted(-offset) == found


@given(TEXTS, st.sampled_from(["Ada Lind", "Skarrow (island)", "朱元璋", "The Dark River"]))
def test_a_title_is_added_without_disturbing_what_was_found(text: str, title: str):
    found = with_title(text, patterns.extract_names(text, "fr"), title)

    assert_fits(text, found)
    assert with_title(text, found, title) == found


@given(TEXTS)
def test_known_names_are_cut_from_the_text_and_apart(text: str):
    known = {"ada lind", "ada", "skarrow", "jean de la fontaine", "12"}

    found = known_name_mentions(text, known.intersection)

    assert_fits(text, Extraction(tuple(found)))
    assert {naming_key(one.surface) for one in found} <= known


@given(TEXTS)
def test_quoted_titles_are_inside_their_marks(text: str):
    for title in quoted_titles(text):
        assert text[title.start : title.end] == title.surface
        assert not set(title.surface) & set('“”"\n')


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=12)


def as_mentions(spans: list[tuple[int, int]]) -> list[FoundMention]:
    return [FoundMention(start, start + size, "X" * size, NAME, "x") for start, size in spans]


@given(SPANS)
def test_of_overlapping_candidates_only_some_are_left_and_none_overlaps(
    spans: list[tuple[int, int]],
):
    candidates = as_mentions(spans)

    kept = longest(candidates)

    assert all(left.end <= right.start for left, right in pairwise(kept))
    for other in candidates:  # what is left out gave way to one at least as long
        assert any(
            one.start < other.end
            and other.start < one.end
            and one.end - one.start >= other.end - other.start
            for one in kept
        )
    assert longest(kept) == kept


@given(TEXTS)
def test_no_pair_is_linked_twice_in_a_sentence(text: str):
    mentions = patterns.extract_names(text, "fr").mentions
    sentences = sentence_spans(text)

    pairs = [(link.source, link.target) for link in together(mentions, sentences)]

    assert len(pairs) == len(set(pairs))
    assert all(source < target for source, target in pairs)
    assert [span for span, _ in by_sentence(mentions, sentences)] == sentences


@given(st.text(max_size=300), st.data())
def test_any_span_is_a_bounded_name_or_none(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    found = mention(text, (start, end), NAME, "x")

    if found is not None:
        assert start <= found.start < found.end <= end
        assert 2 <= len(found.surface) <= LONGEST_SURFACE
        assert "\n" not in found.surface


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["Ada Lind came. ", "x" * 900, "\n\n", "a b "]), max_size=60))
def test_reading_in_windows_keeps_every_offset_true(parts: list[str]):
    text = "".join(parts) * 3

    pieces = list(windows(text))
    found = joined((offset, patterns.extract_names(piece, "fr")) for offset, piece in pieces)

    assert all(len(piece) <= LONGEST_WINDOW for _, piece in pieces)
    assert_fits(text, found)
