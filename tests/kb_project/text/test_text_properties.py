"""What holds of keys, words and sentences for any text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st

from kb_project.text.languages import detect_language
from kb_project.text.names import LONGEST_NAME, name_key, name_runs, normalise_name
from kb_project.text.sentences import LONGEST_SENTENCE, sentence_spans
from kb_project.text.words import LONGEST_TERM, fold, is_unspaced, terms, words

NAMES = st.lists(
    st.sampled_from(
        ["The", "the", "A.", "J.", "Café", "O’Brien", "O'Neill's", "GPT-3.5", "C#", "C++", "朱元璋",
         "·", "of", "1,000", "Ærø", "東京", "Lind", "-", "’s", "'"]
    ),
    max_size=6,
).map(" ".join)  # fmt: skip


@given(NAMES)
@example("The The")
def test_the_key_of_a_key_is_that_key(name: str):
    key = normalise_name(name)
    if key.startswith("the "):
        return  # a second article: "The The The" is named again by its key

    assert normalise_name(key) == key


@given(NAMES)
def test_case_and_surrounding_blanks_make_no_other_name(name: str):
    assert normalise_name(f"  {name}\n") == normalise_name(name)
    assert normalise_name(name.upper()) == normalise_name(name.lower())


@given(NAMES)
def test_a_name_is_among_the_runs_of_its_own_words(name: str):
    text_words = list(words(name))
    key = name_key([word.folded for word in text_words])

    runs = list(name_runs(text_words))

    if key:
        assert (0, len(text_words), key) in runs
    assert all(0 <= first < stop <= len(text_words) for first, stop, _ in runs)
    assert all(stop - first <= LONGEST_NAME for first, stop, _ in runs)


@given(NAMES, st.sets(st.integers(0, 5)))
def test_runs_begin_only_where_they_may(name: str, starts: set[int]):
    text_words = list(words(name))
    allowed = sorted(start for start in starts if start < len(text_words))

    some = list(name_runs(text_words, starts=allowed))

    assert some == [run for run in name_runs(text_words) if run[0] in allowed]


@given(st.text())
@example("𝕊 ℃ ₨ ᴬ")
def test_folding_twice_is_folding_once(text: str):
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_words_are_in_order_and_apart(text: str):
    found = list(words(text))

    assert all(left.end <= right.start for left, right in pairwise(found))
    assert all(word.start < word.end and word.folded for word in found)
    assert all(not word.folded.isspace() for word in found)


@given(st.text(alphabet="ab .!?…\n。Mr1朱|;-#", max_size=200), st.sampled_from([1, 30]))
def test_sentences_cover_every_letter_once(passage: str, times: int):
    text = passage * times
    spans = sentence_spans(text)

    covered = {place for start, end in spans for place in range(start, end)}
    assert {place for place, letter in enumerate(text) if not letter.isspace()} <= covered
    assert sum(end - start for start, end in spans) == len(covered)
    assert all(end - start <= LONGEST_SENTENCE for start, end in spans)


@given(st.lists(st.integers(1, 30), min_size=200, max_size=300))
def test_a_stretch_without_a_full_stop_is_cut_between_words(lengths: list[int]):
    stretch = " ".join("x" * length for length in lengths)

    pieces = [stretch[start:end] for start, end in sentence_spans(stretch)]

    assert " ".join(pieces) == stretch


@given(st.text(alphabet="ab .!?\n", max_size=80))
def test_a_sentence_by_itself_is_not_cut_again(text: str):
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        assert sentence_spans(sentence) == [(0, len(sentence))]


@given(st.text())
def test_terms_are_bounded_and_the_same_for_question_and_passage(text: str):
    found = terms(text)

    assert all(0 < len(term) <= LONGEST_TERM * 3 for term in found)
    assert terms(f"{text} ") == found


@given(st.text(alphabet="朱元璋東京ตกあア", min_size=1, max_size=20))
def test_a_run_without_spaces_is_one_word_and_overlapping_pairs(run: str):
    assert is_unspaced(run)
    assert len(list(words(run))) == 1
    assert len(terms(run)) == max(1, len(fold(run)) - 1)


@given(st.text())
def test_every_text_has_a_language(text: str):
    known = {"zh", "ja", "ko", "en", "de", "fr", "es", "it", "pt", "nl", "other"}

    assert detect_language(text) in known


@pytest.mark.parametrize("text", ["", "123", "…!?", " \n"])
def test_a_text_without_letters_is_in_no_language(text: str):
    assert detect_language(text) == "other"
