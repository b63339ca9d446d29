"""What sentences assert of their subject, and which of them cannot both hold."""

from __future__ import annotations

import pytest

from ingestion.stages.conflicts.assertions import Assertion, Name, assertions, number_of
from kb_project.text.values import Value

SUBJECT = "Skarrow Light"
PEOPLE = ("Ada Lind", "Olaf Brekke", "Orran", "Hestay")


def read(sentence: str) -> list[Assertion]:
    names = [
        Name(sentence.index(name), sentence.index(name) + len(name), name.lower(), "name")
        for name in (SUBJECT, *PEOPLE)
        if name in sentence
    ]
    [subject] = [one for one in names if one.key == SUBJECT.lower()]
    return list(assertions(sentence, subject, sorted(names, key=lambda one: one.start)))


def disagree(one: str, other: str) -> bool:
    return any(a.disagrees(b) for a in read(one) for b in read(other))


CONFLICTS = [
    ("Skarrow Light was built in 1869.", "Skarrow Light was built by Ada Lind in 1871."),
    ("Skarrow Light was built in 1869.", "In 1871 Skarrow Light was built on the rock."),
    ("Skarrow Light opened on 3 May 1869.", "Skarrow Light was opened on 5 May 1869."),
    ("Skarrow Light opened on 3 May 1869.", "Skarrow Light opened in June 1869."),
    (
        "The Skarrow Light was relit at 19:22 on 28 September 2024, and Ada Lind threw the switch.",
        "Skarrow Light was relit on Saturday 21 September 2024 before trustees.",
    ),
    ("Skarrow Light (born 12 May 1903) sang.", "Skarrow Light was born on 12 June 1903."),
    ("Skarrow Light (1903–1980) sang.", "Skarrow Light died in 1981."),
    ("Ada Lind founded Skarrow Light in 1869.", "Skarrow Light was founded in 1871."),
    ("Skarrow Light is 40 metres tall.", "Skarrow Light is 35 m high."),
    ("Skarrow Light is 40 metres tall.", "The height of Skarrow Light is 38 metres."),
    ("Skarrow Light is 4 km long.", "Skarrow Light is 5,200 metres long."),
    ("Skarrow Light has 1,008 prisms.", "Skarrow Light has 1,012 prisms in sixteen panels."),
    ("Skarrow Light employs thirty-one people.", "Skarrow Light employs 35 people."),
    ("Skarrow Light has a budget of £12,500.", "Skarrow Light has a budget of £14,000."),
    ("Skarrow Light weighs 212 kg.", "Skarrow Light weighs 250 kg."),
    ("Skarrow Light costs €1,200.", "Skarrow Light costs €1,450."),
    ("The director of Skarrow Light is Ada Lind.", "The director of Skarrow Light is Olaf Brekke."),
    ("Skarrow Light was designed by Ada Lind.", "Skarrow Light was designed by Olaf Brekke."),
    ("Skarrow Light was born in Orran.", "Skarrow Light was born in Hestay."),
    ("In 2019 Skarrow Light had 30 members.", "In 2019 Skarrow Light had 42 members."),
]
NEAR_MISSES = [
    # The same in other words, less precise, or rounded.
    ("Skarrow Light was built in 1869.", "Skarrow Light was built on 3 May 1869."),
    ("Skarrow Light is 40 metres tall.", "Skarrow Light is 40 m high."),
    ("Skarrow Light has 12,300 visitors.", "Skarrow Light has 12,345 visitors."),
    ("Skarrow Light is 100 metres long.", "Skarrow Light is 328 feet long."),
    ("Skarrow Light costs €1.2 million.", "Skarrow Light costs €1,234,567."),
    # Hedged, denied, planned, asked.
    ("Skarrow Light has about 30 members.", "Skarrow Light has 42 members."),
    ("Skarrow Light was not built in 1869.", "Skarrow Light was built in 1871."),
    ("Skarrow Light was planned to be opened in 1869.", "Skarrow Light was opened in 1871."),
    ("Was Skarrow Light built in 1869?", "Skarrow Light was built in 1871."),
    ("Skarrow Light has more than 30 members.", "Skarrow Light has 42 members."),
    # Of other times.
    ("In 2019 Skarrow Light had 30 members.", "In 2021 Skarrow Light had 42 members."),
    ("Skarrow Light had 30 members.", "Skarrow Light has 42 members."),
    ("Skarrow Light has a budget of £12,500 for 2024.", "Skarrow Light has a budget of £14,000."),
    # Of other things.
    ("Skarrow Light is 40 metres tall.", "Skarrow Light is 12 metres wide."),
    ("Skarrow Light has 30 members.", "Skarrow Light has 42 boats."),
    ("Skarrow Light is 4 km from Orran.", "Skarrow Light is 9 km from Hestay."),
    (
        "Skarrow Light was released in Orran in 1990.",
        "Skarrow Light was released in Hestay in 1992.",
    ),
    ("The door of Skarrow Light was built in 1869.", "Skarrow Light was built in 1871."),
    ("Skarrow Light's tower was built in 1869.", "Skarrow Light was built in 1871."),
    # What happens more than once, or may be several.
    ("Skarrow Light was repaired in 1990.", "Skarrow Light was repaired in 1994."),
    ("Skarrow Light was renamed in 1990.", "Skarrow Light was renamed in 1994."),
    ("Skarrow Light opened a branch in 1990.", "Skarrow Light opened in 1980."),
    ("The son of Skarrow Light is Ada Lind.", "The son of Skarrow Light is Olaf Brekke."),
    (
        "Skarrow Light was designed by Ada Lind and Olaf Brekke.",
        "Skarrow Light was designed by Olaf Brekke.",
    ),
    # Ranges, decades, and one of two years.
    ("Skarrow Light was built in 1869–71.", "Skarrow Light was built in 1872."),
    ("Skarrow Light was built in the 1860s.", "Skarrow Light was built in 1872."),
    ("Skarrow Light was built in 1869 or 1870.", "Skarrow Light was built in 1872."),
    # Two people of one name.
    ("Skarrow Light (born 1955) plays.", "Skarrow Light (1820–1885) drew."),
]


@pytest.mark.parametrize(("one", "other"), CONFLICTS)
def test_sentences_that_give_one_attribute_different_values_disagree(one: str, other: str):
    assert disagree(one, other)
    assert disagree(other, one)


@pytest.mark.parametrize(("one", "other"), NEAR_MISSES)
def test_sentences_that_may_both_hold_do_not(one: str, other: str):
    assert not disagree(one, other)


def test_an_assertion_says_what_it_is_about_and_the_value_as_written():
    [height] = read("The Skarrow Light is 40 metres tall.")
    [built] = read("Skarrow Light was built on 3 May 1869.")

    assert (height.label, height.written) == ("height", "40 metres")
    assert (built.label, built.written) == ("when it was built", "3 May 1869")
    assert built.value == Value.of_key("date:1869-5-3")


def test_a_number_is_as_precise_as_its_last_digit():
    assert number_of("1,200") == (1200.0, 100.0)
    assert number_of("3.5", "million") == (3_500_000.0, 100_000.0)
    assert number_of("thirty-one") == (31.0, 1.0)
