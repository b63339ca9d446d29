"""Which stretch of a long text is shown: it covers what was asked for, and leads to the rest."""

from __future__ import annotations

from hypothesis import given, strategies as st

from ingestion.documents.reader import SNAP, Window, window_of

LINES = st.lists(st.integers(0, 90), max_size=60).map(
    lambda lengths: "\n".join("x" * length for length in lengths)
)
LENGTHS = st.integers(1, 300)


def test_a_text_a_little_too_long_is_not_cut_for_its_last_lines():
    text = "x" * 150

    assert window_of(text, span=None, begin=0, length=100) == Window(0, 150, None, None)
    assert window_of(text + "x", span=None, begin=0, length=100).later == 100


def test_an_empty_text_is_one_empty_stretch():
    assert window_of("", span=None, begin=0, length=10) == Window(0, 0, None, None)


def test_both_cuts_move_to_the_line_break_that_is_near():
    text = ("line " * 20 + "\n") * 50
    window = window_of(text, span=None, begin=1500, length=1000)

    assert text[window.start - 1] == "\n"
    assert text[window.end - 1] == "\n"
    assert 1500 - SNAP <= window.start <= 1500
    assert 2400 <= window.end <= 2500 + SNAP


def test_without_a_line_break_the_cuts_stay_where_they_were_asked_for():
    window = window_of("x" * 50_000, span=None, begin=10_000, length=5_000)

    assert (window.start, window.end) == (10_000, 15_000)
    assert (window.earlier, window.later) == (5_000, 15_000)


def test_a_beginning_past_the_end_shows_the_last_of_the_text():
    window = window_of("x\n" * 5_000, span=None, begin=1_000_000, length=100)

    assert window.end == 10_000
    assert window.later is None
    assert window.start < window.end


def test_a_negative_beginning_is_the_beginning():
    window = window_of("x" * 1_000, span=None, begin=-50, length=100)

    assert (window.start, window.earlier) == (0, None)


def test_a_span_stands_in_the_middle_of_its_stretch():
    window = window_of("x" * 100_000, span=(50_000, 50_010), begin=0, length=10_000)

    assert (window.start, window.end) == (45_000, 55_000)


def test_a_span_longer_than_a_stretch_is_shown_whole():
    window = window_of("x" * 100_000, span=(30_000, 80_000), begin=0, length=1_000)

    assert window.start <= 30_000
    assert window.end >= 80_000


def test_a_span_counts_more_than_a_beginning():
    text = "x" * 10_000

    assert window_of(text, span=(5_000, 5_001), begin=0, length=100).start == 4_950


@given(text=LINES, length=LENGTHS, begin=st.integers(-10, 6_000))
def test_a_stretch_lies_in_the_text_and_is_not_much_longer_than_asked(text, length, begin):
    window = window_of(text, span=None, begin=begin, length=length)

    assert 0 <= window.start <= window.end <= len(text)
    assert window.end - window.start <= length * 1.5 + 2 * SNAP
    assert (window.earlier is None) == (window.start == 0)
    assert (window.later is None) == (window.end == len(text))


@given(text=LINES, length=LENGTHS)
def test_following_the_later_stretches_reads_the_whole_text_once(text, length):
    window = window_of(text, span=None, begin=0, length=length)
    shown = text[window.start : window.end]
    while window.later is not None:
        before, window = window, window_of(text, span=None, begin=window.later, length=length)
        assert window.end > before.end
        shown += text[max(window.start, before.end) : window.end]

    assert shown == text


@given(text=LINES, length=LENGTHS, begin=st.integers(0, 6_000))
def test_following_the_earlier_stretches_reaches_the_beginning_and_skips_nothing(
    text, length, begin
):
    window = window_of(text, span=None, begin=begin, length=length)
    while window.earlier is not None:
        after, window = window, window_of(text, span=None, begin=window.earlier, length=length)
        assert window.start < after.start
        assert window.end >= after.start

    assert window.start == 0


@given(text=LINES, length=LENGTHS, data=st.data())
def test_a_span_is_always_inside_its_stretch(text, length, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    window = window_of(text, span=(start, end), begin=0, length=length)

    assert window.start <= start
    assert end <= window.end
