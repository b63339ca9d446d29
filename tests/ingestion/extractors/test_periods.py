"""Periods in sentences: what counts as a date, and what only looks like one."""

from __future__ import annotations

import pytest

from ingestion.extractors.periods import begins_state, periods_in


def periods(text: str) -> list[str]:
    return [f"{one.start}..{one.end}" for one in periods_in(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She has kept it since 1902.", "1902.."),
        ("He led it from March 2019 to 2021.", "2019-03..2021"),
        ("It was open until 1911.", "..1911"),
        ("He lived there between 1990 and 1995.", "1990..1995"),
        ("It was built in 1894.", "1894..1894"),
        ("In May 2020 it closed.", "2020-05..2020-05"),
        ("As of 2021 she is the head.", "2021..2021"),
        ("He reigned 1902–1911.", "1902..1911"),
        ("during 1902–11", "1902..1911"),
        ("on 2019-05-03 they met", "2019-05-03..2019-05-03"),
        ("on the 3rd of May, 2019", "2019-05-03..2019-05-03"),
        ("On May 3rd, 2019 they met", "2019-05-03..2019-05-03"),
        ("from March to May 2019", "2019-03..2019-05"),
        ("from 3 to 7 May 2019", "2019-05-03..2019-05-07"),
        ("Effective 1 March 2021, it is closed.", "2021-03-01.."),
        ("He has led it from May 2010 to the present.", "2010-05.."),
        ("From 1990, he was the head.", "1990.."),
        ("in the late 1990s", "1990..1999"),
        ("in 1990, 1991 and 1992", "1990..1992"),
        ("from 1927 until her death in 1974", "1927..1974"),
        ("自1998年起任校长", "1998.."),
        ("1998年至2004年", "1998..2004"),
        ("2011年3月", "2011-03..2011-03"),
        ("二〇一一年三月五日", "2011-03..2011-03"),
        ("2011年3月5日开馆", "2011-03-05..2011-03-05"),
        ("1998年至今", "1998.."),
        ("直到2004年", "..2004"),
        ("一直到2004年才开馆", "2004..2004"),
        ("该名称沿用至1981年", "..1981"),
        ("至2007年，有211个网点", "2007..2007"),
        ("2011年3月至5月", "2011-03..2011-05"),
        ("20世纪90年代", "1990..1999"),
    ],
)
def test_a_period_has_the_precision_of_the_text(text, expected):
    assert periods(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "on 30 February 2019",
        "since 31 April 2020",
        "2019-13-01",
        "1998年2月30日",
        "Blade Runner 2049 took 1,902 days",
        "He won in 1500 metres and in 2000 cases",
        "in 2001: A Space Odyssey",
        "ISO-1902, in 1902A, #1902 and in 1902.5",
        "in 1200 BC",
        "from 2010 to 2000 people",
        "a letter from 1990",
        "by 1990, before 3 May 2019 and around 1902–1911",
        "pp. 1902–1911",
        "It did not begin until 1834.",
        "in 1950 and 1960",
        "in the 1970s and the 1980s",
        "1998年以前，2011年版",
        "2030",
        "",
    ],
)
def test_what_only_looks_like_a_date_gives_nothing(text):
    assert periods(text) == []


def test_a_year_inside_a_name_gives_nothing():
    text = "It was shown in 1984 Revisited since 1990."
    at = text.index("1984 Revisited")

    found = periods_in(text, [(at, at + len("1984 Revisited"))])

    assert [one.start for one in found] == ["1990"]


def test_a_period_says_which_words_it_rests_on():
    text = "In 1894 he founded it, and he led it from 1902 to 1911."

    assert [text[one.quote_start : one.quote_end] for one in periods_in(text)] == [
        "In 1894",
        "from 1902 to 1911",
    ]


@pytest.mark.parametrize("words", ["became director of", "was elected mayor of", "joined", "出任"])
def test_some_events_begin_a_state(words):
    assert begins_state(words)


@pytest.mark.parametrize("words", ["was built in", "succeeded in finding", "met", "was head of"])
def test_other_events_are_over_when_they_are_over(words):
    assert not begins_state(words)
