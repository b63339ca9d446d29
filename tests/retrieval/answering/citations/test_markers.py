from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from retrieval.answering.citations.labels import labels_in
from retrieval.answering.citations.markers import MarkerFilter


class Shown:
    """Three passages, two entities and two reports."""

    kinds = frozenset({"", "E", "T"})

    def numbers(self, label: str, said: str) -> tuple[int, ...]:
        known = {"1": (1,), "2": (2,), "3": (3,), "E1": (2,), "E2": (4,), "T1": (1, 5), "T2": (3,)}
        return known.get(label, ())


def through(*pieces: str) -> MarkerFilter:
    sieve = MarkerFilter(Shown())
    shown = [sieve.feed(piece) for piece in pieces]
    shown.append(sieve.close())
    assert "".join(shown) == sieve.text
    return sieve


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("It burns oil [1].", "It burns oil [1]."),
        ("It burns oil.[1]", "It burns oil.[1]"),
        ("It burns oil [1, 3].", "It burns oil [1][3]."),
        ("It burns oil [1][3].", "It burns oil [1][3]."),
        ("It burns oil [1] [3].", "It burns oil [1] [3]."),
        ("It burns oil [[1]].", "It burns oil [1]."),
        ("It burns oil [[1], [2]].", "It burns oil [1][2]."),
        ("It burns oil 【1】.", "It burns oil [1]."),
        ("It burns oil 【1†source】.", "It burns oil [1]."),
        ("It burns oil \uff3b2\uff3d。", "It burns oil [2]。"),
        ("It burns oil [^2].", "It burns oil [2]."),
        (r"It burns oil \[2\].", "It burns oil [2]."),
        ("It burns oil [Passage 2].", "It burns oil [2]."),
        ("It burns oil [1-3].", "It burns oil [1][2][3]."),
        ("It burns oil [1 and 2].", "It burns oil [1][2]."),
        ("It burns oil [E2].", "It burns oil [4]."),
        ("It burns oil [T1, E1].", "It burns oil [1][5][2]."),
        ("It burns oil [Data: Reports (1, 2, +more); Entities (2)].", "It burns oil [1][5][3][4]."),
        ("It burns oil [Sources: 1].", "It burns oil [Sources: 1]."),
        ("It [sic] burns oil [1].", "It [sic] burns oil [1]."),
    ],
)
def test_every_usual_form_becomes_plain_numbers(written, shown):
    assert through(written).text == shown


@pytest.mark.parametrize(
    ("written", "shown", "kind"),
    [
        ("It burns oil [9].", "It burns oil.", "invented"),
        ("It burns oil [0] today.", "It burns oil today.", "invented"),
        ("It burns oil [12345678].", "It burns oil.", "invented"),
        ("It burns oil [E9].", "It burns oil.", "invented"),
        ("It burns oil[9].", "It burns oil.", "invented"),
        ("It burns oil [\U000116d0].", "It burns oil.", "invented"),
        ("It burns oil [Sources (1, \U000116d0)].", "It burns oil [1].", "invented"),
        ("It burns oil [S1].", "It burns oil.", "foreign"),
        ("It burns oil [G].", "It burns oil.", "foreign"),
        ("It burns oil [citation needed].", "It burns oil.", "foreign"),
        ("It burns oil [doc 2].", "It burns oil.", "foreign"),
        ("It burns oil [Data: Ledgers (2)].", "It burns oil.", "foreign"),
        ("It burns oil [Data: nothing].", "It burns oil.", "foreign"),
        ("It burns oil [1, 1].", "It burns oil [1].", "repeated"),
        ("It burns oil [1][1].", "It burns oil [1].", "repeated"),
        ("[1] It burns oil.", "It burns oil.", "misplaced"),
        ("Call `a[1]`.", "Call `a[1]`.", "none"),
        ("See https://x.org/a[1]/b.", "See https://x.org/a[1]/b.", "misplaced"),
        ("See [1](https://x.org).", "See [1](https://x.org).", "misplaced"),
    ],
)
def test_what_does_not_hold_is_dropped_and_counted(written, shown, kind):
    sieve = through(written)

    counts = sieve.counts.as_json()
    assert sieve.text == shown
    assert {name for name, number in counts.items() if number and name != "kept"} == {kind} - {
        "none"
    }


@pytest.mark.parametrize(
    "written",
    [
        "Call `a[1]` first.",
        "Call ``a[`1]`` first.",
        "```\nx = a[1]\n```\n",
        "```python\nx = a[99]\n",
        "~~~\n[1]\n~~~\n",
        "See https://x.org/a[1] there.",
        "See www.x.org/[1].",
        "See [the list [1]](https://x.org/a).",
        "See [1](https://x.org/a_(b)) there.",
        "See ![1](a.png) there.",
        'See [1](/a "the title") there.',
    ],
)
def test_inside_code_an_address_or_a_link_a_bracket_is_text(written):
    sieve = through(written)

    assert sieve.text == written
    assert sieve.placed == []


def test_what_only_looks_like_code_or_a_link_is_neither():
    assert through("A ` alone [9] here").text == "A ` alone here"
    assert through("Oil [1](as was said) burns").text == "Oil [1](as was said) burns"
    assert [one.number for one in through("Oil [1](as was said) burns").placed] == [1]
    assert [one.number for one in through("At https://x.org. [1]").placed] == [1]
    assert [one.number for one in through("(https://x.org)[1]").placed] == [1]


def test_after_code_markers_are_markers_again():
    sieve = through("Use this:\n```\na[9]\n```\nIt sorts [1] well [9].")

    assert sieve.text == "Use this:\n```\na[9]\n```\nIt sorts [1] well."
    assert [one.number for one in sieve.placed] == [1]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("It shone (see [9]).", "It shone."),
        ("It shone (see [9], [8]), and far.", "It shone, and far."),
        ("It shone ([9]) far.", "It shone far."),
        ("It shone[1] (cf. [1]).", "It shone[1]."),
        ("灯亮了（参见[9]）。", "灯亮了。"),
        ("It shone (see [1]).", "It shone (see [1])."),
        ("It shone (see [9] and [1]).", "It shone (see and [1])."),
        ("It shone (see the log [9]).", "It shone (see the log)."),
        ("It shone (see [sic]).", "It shone (see [sic])."),
        ("See https://a.example/(see[9]) there.", "See https://a.example/(see[9]) there."),
        ("It shone (see", "It shone (see"),
    ],
)
def test_an_aside_of_nothing_but_dropped_markers_goes_with_them(written, shown):
    assert through(written).text == shown
    assert through(*written).text == shown


def test_the_resolver_hears_the_sentence_before_the_marker():
    heard = []

    class Listening(Shown):
        def numbers(self, label, said):
            heard.append((label, said))
            return (1,)

    sieve = MarkerFilter(Listening())
    for letter in "The lamp burns oil [E1].":
        sieve.feed(letter)
    sieve.close()

    assert heard == [("E1", "The lamp burns oil")]


def test_a_marker_is_shown_only_when_it_is_whole_and_checked():
    sieve = MarkerFilter(Shown())

    shown = [sieve.feed(piece) for piece in ("oil ", "[", "1", "]", " and", " [", "9", "]", ".")]

    assert shown == ["oil", "", "", "", " [1] and", "", "", "", "."]


@pytest.mark.parametrize(
    ("bracket", "labels"),
    [
        ("[1]", ["1"]),
        ("[007]", ["7"]),
        ("[e1; f2]", ["E1", "F2"]),
        ("[Relationships (3)]", ["F3"]),
        ("[Data: Sources (1, 2)]", ["1", "2"]),
        ("[1–3]", ["1", "2", "3"]),
        ("[1-900]", ["1", "900"]),
        ("[３]", ["3"]),
        ("[3f2a9c10]", ["?"]),
        ("[G]", ["G"]),
        ("[see below]", None),
        ("[ ]", None),
        ("[x]", None),
        ("[1.5]", None),
        ("[]", None),
    ],
)
def test_labels_are_read_in_any_usual_form(bracket, labels):
    assert labels_in(bracket) == labels


PARTS = st.sampled_from(
    "[1]|[2|]|[9]|[|E1|, 3|【1】|【|[Data: Reports (1, +more)]|`|```|\n| |  |word|.|(|)|(http://a.b)"
    '|http://x.y/|\\|~~~|[[1], [2]]|[G]|[1](|a(b)|"t"|<|>|[^1]|[sic]|，|[T1][T1]|\t|!|*'.split("|")
)
TEXTS = st.lists(PARTS, max_size=30).map("".join)


@given(text=TEXTS, cuts=st.lists(st.integers(0, 200), max_size=12))
def test_the_result_is_the_same_however_the_text_is_cut(text, cuts):
    whole = through(text)
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})

    cut = through(*(text[a:b] for a, b in pairwise(places)))
    single = through(*text)

    for other in (cut, single):
        assert (other.text, other.placed, other.counts) == (whole.text, whole.placed, whole.counts)


@given(text=TEXTS)
def test_every_marker_outside_code_and_links_was_checked(text):
    sieve = through(text)

    for one in sieve.placed:
        assert sieve.text[one.start : one.end] == f"[{one.number}]"
        assert one.number in {1, 2, 3, 4, 5}
    if not re.search(r"[`~()/]", text):
        assert set(re.findall(r"\[(\d+)\]", sieve.text)) == {str(o.number) for o in sieve.placed}


@given(text=st.text(max_size=300))
def test_any_text_comes_through_without_a_failure(text):
    assert len(through(text).text) <= len(text)
