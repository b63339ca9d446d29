from __future__ import annotations

import random
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from ingestion.stages.reports import titles as module
from ingestion.stages.reports.titles import (
    MOST_CHARACTERS,
    MOST_WORDS,
    UNNAMED,
    Name,
    Section,
    TitleSubject,
    labels_of,
    titles,
    words_in,
)

HANDBOOK = "Staff handbook"


def place(number: int, *headings: str, document: str = HANDBOOK) -> Section:
    return Section(number, headings, document)


def subject(
    number: int, said: dict[Section, int], *names: Name, links: float = 10.0
) -> TitleSubject:
    return TitleSubject(UUID(int=number), Counter(said), names, links)


def in_order(found: dict[UUID, str]) -> list[str]:
    return [found[id_] for id_ in sorted(found)]


def only(one: TitleSubject) -> str:
    return titles([one])[one.id]


def test_a_topic_is_named_after_the_heading_that_sets_it_apart():
    storms = place(1, "Working in the towers", "Storm routine")
    oil = place(2, "Working in the towers", "Oil and wicks")

    found = titles([subject(1, {storms: 9, oil: 1}), subject(2, {oil: 9, storms: 1})])

    assert in_order(found) == ["Storm routine", "Oil and wicks"]


def test_what_stands_in_one_document_may_have_its_title():
    carol = place(1, document="A Christmas Carol")
    guide = place(2, document="Guide for Maintainers")

    found = titles([subject(1, {carol: 9}), subject(2, {guide: 5})])

    assert in_order(found) == ["A Christmas Carol", "Guide for Maintainers"]


def test_a_name_is_chosen_where_no_heading_covers_the_topic():
    said = {
        place(number, f"Meeting of week {number}", document="Minutes"): 1 for number in range(9)
    }
    chief = Name("Sea Observation Unit", "organization", inside=6, everywhere=7)
    known = Name("Port Ansgar", "place", inside=6, everywhere=60)

    assert only(subject(1, said | {place(99, document="Log"): 9}, known, chief)) == chief.text


def test_a_topic_from_all_over_a_manual_is_named_after_its_subject_instead_of_the_manual():
    chief = Name("Sea Observation Unit", "organization", inside=6, everywhere=8)
    few = {place(number, f"Part {number}", document="Towers manual"): 1 for number in range(2)}
    many = {place(number, f"Part {number}", document="Towers manual"): 1 for number in range(40)}

    assert only(subject(1, few, chief)) == "Towers manual"
    assert only(subject(1, many, chief)) == "Sea Observation Unit"


def test_a_single_word_is_joined_with_another_label():
    scrooge = Name("Scrooge", "person", inside=8, everywhere=8)
    marley = Name("Jacob Marley", "person", inside=7, everywhere=18)

    assert only(subject(1, {}, scrooge, marley)) == "Scrooge and Jacob Marley"


def test_a_name_of_one_word_stands_alone_if_little_else_is_about_the_topic():
    release = {place(1, "The 2.x releases", document="7"): 1, place(2, document="7"): 9}
    debian = Name("Debian", "product", inside=9, everywhere=9)
    other = Name("Acme", "organization", inside=1, everywhere=9)

    assert only(subject(1, release, debian, other)) == "Debian"


@pytest.mark.parametrize(
    ("text", "type_", "is_title"),
    [
        ("Debian", "product", True),
        ("GnuCash", "concept", True),
        ("PNG", "concept", True),
        ("Settings", "concept", False),
    ],
)
def test_a_single_word_that_may_be_no_name_is_joined(text, type_, is_title):
    chief = Name(text, type_, inside=9, everywhere=9)
    other = Name("lamp oil", "concept", inside=1, everywhere=9)

    assert (only(subject(1, {}, chief, other)) == text) is is_title


def test_the_heading_of_a_section_is_not_joined_with_a_name():
    name = Name("Settings", "concept", inside=9, everywhere=9)
    of_section = {place(1, "The 2.x releases", document="7"): 1, place(2, document="7"): 9}
    of_document = {place(1, document="The 2.x releases"): 1, place(2, document="7"): 9}

    assert only(subject(1, of_section, name)) == "The 2.x releases"
    assert only(subject(1, of_document, name)) == "Settings and The 2.x releases"


def test_a_heading_that_asks_is_chosen_only_if_it_covers_much_more_than_one_that_names():
    def named(asks: int, names: int) -> str:
        asking = place(1, "How to distinguish", document="7")
        naming = place(2, "Colour fringes", document="7")
        return only(subject(1, {asking: asks, naming: names}))

    assert named(5, 4) == "Colour fringes"
    assert named(9, 4) == "How to distinguish"


def test_one_and_many_of_the_same_are_no_two_titles():
    found = titles([subject(1, {place(1, "Oil lamp"): 9}), subject(2, {place(2, "Oil lamps"): 9})])

    assert found.values() != {"Oil lamp", "Oil lamps"}


def test_a_name_that_has_part_of_the_other_is_not_joined_with_it():
    short = Name("Scrooge", "person", inside=8, everywhere=8)
    long = Name("Ebenezer Scrooge", "person", inside=6, everywhere=6)

    assert only(subject(1, {}, short, long)) == "Ebenezer Scrooge"


def test_a_heading_that_stands_in_every_chapter_names_no_topic():
    said = {
        place(number, f"Chapter {number}", f"{number}.9. Putting it all together"): often
        for number, often in enumerate((6, 1, 1, 1), start=1)
    }
    lamp = place(9, "Cleaning the lamp", document="Log")

    assert only(subject(1, said | {lamp: 5})) == "Cleaning the lamp"


def test_a_label_that_says_enough_is_not_joined_with_a_word():
    debate = Name("DebConf", "event", inside=8, everywhere=8)
    martyrs = {place(1, "The Haymarket martyrs"): 5, place(2, "7"): 4}

    assert only(subject(1, martyrs, debate, links=9)) == "The Haymarket martyrs"


@pytest.mark.parametrize("seed", range(20))
def test_few_headings_of_a_large_topic_tell_as_much_as_all_of_them(seed: int, monkeypatch):
    chance = random.Random(seed)
    words = ["Storm", "Lamp", "Oil", "Tower", "Boat", "Harbour", "Keeper", "Wick"]

    def topic(number: int) -> TitleSubject:
        said = {
            place(at, " ".join(chance.sample(words, 2)), " ".join(chance.sample(words, 3))): count
            for at, count in enumerate(chance.choices([1, 1, 1, 2, 5, 40], k=60))
        }
        return subject(number, said, Name("Ada Lind", "person", chance.random(), 9.0))

    topics = [topic(number) for number in range(4)]
    monkeypatch.setattr(module, "LOOKED_AT", ())
    of_all = titles(topics)
    monkeypatch.setattr(module, "LOOKED_AT", (5, 20))

    assert titles(topics) == of_all


def test_no_two_topics_are_named_by_the_same_words_in_another_order():
    def topic(number: int, *names: str) -> TitleSubject:
        weights = zip(names, (8, 7), strict=True)
        return subject(number, {}, *(Name(name, "concept", w, 8) for name, w in weights))

    found = titles([topic(1, "Stars", "Names"), topic(2, "Names", "Stars")])

    assert len({frozenset(title.split()) for title in found.values()}) == 2


def test_no_topic_has_the_title_of_one_above_it():
    one = subject(1, {place(1, "Storm routine"): 4}, Name("Strand & Loxley", "organization", 1, 1))

    assert titles([one], ["STORM routine"])[one.id] not in ("Storm routine", UNNAMED)


def test_topics_without_anything_to_go_by_are_numbered():
    found = titles([subject(1, {}), subject(2, {}), subject(3, {}, Name("RK", "person"))])

    assert in_order(found) == [UNNAMED, f"{UNNAMED} (2)", "RK"]


LABELS = st.sampled_from(
    ["Storm routine", "Oil", "7. Oil and wicks", "守塔人名单", "RK", "x = 1", ""]
)
SUBJECTS = st.lists(
    st.tuples(
        st.dictionaries(st.builds(place, st.integers(0, 9), LABELS), st.integers(1, 9), max_size=5),
        st.lists(st.builds(Name, st.text(max_size=90), st.just("person"), st.floats(0, 9))),
    ),
    max_size=6,
)


@given(SUBJECTS)
def test_topics_beside_each_other_all_have_titles_and_no_two_the_same(rows):
    subjects = [subject(number, said, *names) for number, (said, names) in enumerate(rows)]

    found = titles(subjects)

    assert found.keys() == {one.id for one in subjects}
    assert len(set(found.values())) == len(subjects)


@given(st.text(max_size=120))
def test_a_label_is_short_and_on_one_line(said: str):
    for label in labels_of(said):
        assert 0 < words_in(label) <= MOST_WORDS
        assert len(label) <= MOST_CHARACTERS
        assert "\n" not in label


@pytest.mark.parametrize(
    ("heading", "label"),
    [
        ("## 2.3 Building the package", "Building the package"),
        ("Appendix B. Rules of the house", "Rules of the house"),
        ("第三章 守塔人", "守塔人"),
        ("THE END OF IT", "The End of It"),
        ("Backup (rsync)", "Backup"),
        ("Version 3 of the social contract", "Version 3 of the social contract"),
    ],
)
def test_a_heading_is_freed_of_its_number_and_marks(heading: str, label: str):
    assert labels_of(heading) == [label]


@pytest.mark.parametrize(
    "heading",
    [
        "12 March 2021",
        "Section 4.7",
        "debian/rules",
        "foo_bar",
        "$ make install",
        "MO",
        "What is it?",
        "Authors and acknowledgements",
    ],
)
def test_what_names_nothing_is_no_label(heading: str):
    assert labels_of(heading) == []
