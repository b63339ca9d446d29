from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from ingestion.extractors import extract, extract_many
from ingestion.extractors.extraction import STATED, Extraction, FoundMention, FoundRelation
from ingestion.extractors.titles import (
    added,
    is_term,
    known_name_mentions,
    naming_key,
    repeated_names,
    with_title,
)
from kb_project.text.regions import Region, RegionKind


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Dark River (2017 film)", "dark river"),
        ("Theodred II (Bishop of Elmham)", "theodred ii"),
        ("The Straw Hat", "straw hat"),
        ("朱元璋（明太祖）", "朱元璋"),
        ("(2017)", "2017"),
        ("", ""),
    ],
)
def test_a_title_names_what_stands_before_its_parenthesis(title, key):
    assert naming_key(title) == key


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Bacteria", True),
        ("9.7. Selling Shares", True),
        ("9.7. Selling Skarrow", False),
        ("Dark River", False),
    ],
)
def test_a_sections_title_of_common_words_is_a_term_a_works_is_not(title: str, expected: bool):
    assert is_term(title, {"bacteria"}) == expected


def make_mention(text: str, surface: str, type_name: str = "name") -> FoundMention:
    start = text.index(surface)
    return FoundMention(start, start + len(surface), surface, type_name, "ner")


def test_a_title_in_the_text_is_a_mention():
    text = "Waiting for the Clouds is a film."

    found = with_title(text, Extraction(), "Waiting for the Clouds (film)")

    assert [(m.surface, m.source) for m in found.mentions] == [("Waiting for the Clouds", "title")]


@pytest.mark.parametrize("title", ["", "2017", "Something else", "doc_1"])
def test_a_title_the_text_does_not_say_adds_nothing(title):
    assert with_title("Marley was dead in 2017.", Extraction(), title) == Extraction()


def test_a_longer_name_takes_the_place_type_and_facts_of_its_part():
    text = "Lothair II of Lotharingia married Teutberga."
    part, other = make_mention(text, "Lothair II", "person"), make_mention(text, "Teutberga")
    fact = FoundRelation(0, 1, "married", 0, len(text), STATED, 1.0)

    whole = make_mention(text, "Lothair II of")
    found = added(Extraction((part, other), (fact,)), [whole])

    assert [m.surface for m in found.mentions] == ["Lothair II of", "Teutberga"]
    assert found.mentions[0].type == "person"
    assert [(r.source, r.target) for r in found.relations] == [(0, 1)]


def test_a_fact_between_two_parts_of_one_name_is_dropped():
    text = "Bishop of Elmham"
    parts = (make_mention(text, "Bishop"), make_mention(text, "Elmham"))
    fact = FoundRelation(0, 1, "of", 0, len(text), STATED, 1.0)

    found = added(Extraction(parts, (fact,)), [make_mention(text, text)])

    assert found.relations == ()


def test_a_name_inside_a_longer_mention_is_not_added():
    text = "New York City"
    extraction = Extraction((make_mention(text, text, "place"),))

    assert added(extraction, [make_mention(text, "York")]) == extraction


def test_known_names_are_looked_up_once_and_the_longest_kept():
    asked: list[set[str]] = []

    def lookup(keys: set[str]) -> set[str]:
        asked.append(keys)
        return keys & {"new york", "new york city", "city"}

    found = known_name_mentions("He left New York City for Paris.", lookup)

    assert [m.surface for m in found] == ["New York City"]
    assert len(asked) == 1
    assert "left new" not in asked[0]  # runs begin with a capital


def test_a_text_without_words_asks_nothing():
    assert known_name_mentions("… !", lambda keys: pytest.fail("asked")) == []


def test_a_name_missed_elsewhere_in_the_text_is_found_again_with_its_type():
    text = "Fred came. Then Fred left."

    found = repeated_names(text, [make_mention(text, "Fred", "person")])

    assert [(m.start, m.type) for m in found] == [(0, "person"), (16, "person")]


WORDS = """
    A a An THE The Day day DAY Moment Jean-Luc well-known of O'Neill É 朱元璋 的 Дом ΑΘΗΝΑ ﬁ
    İstanbul ß ’s (film) 1984 - C++ … A. J. R. 😀
""".split()
TITLES = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=5).flatmap(
    lambda words: st.sampled_from([" ".join(words), "-".join(words), "".join(words)])
)
PHRASES = ["%s is a film.", "It was %s.", "%s", "%s's keeper saw “%s”.", "They met in"]
SAYINGS = st.lists(st.sampled_from(PHRASES) | st.just("朱元璋说%s。"), min_size=1, max_size=5)


@settings(max_examples=50)
@given(TITLES, SAYINGS, st.sampled_from(["", "en", "zh", "de", "ru"]))
def test_no_title_and_no_name_is_one_that_cannot_be_read(
    title: str, sayings: list[str], language: str
):
    texts = [saying.replace("%s", title) for saying in sayings]
    whole = "\n\n".join([title, *texts])
    heading = [Region(RegionKind.HEADING, 0, len(title), 1)] if title else []

    found = extract_many(
        [whole, *texts], regions=[heading, *[[]] * len(texts)], language=language, title=title
    )

    for text, extraction in zip([whole, *texts], found, strict=True):
        for one in extraction.mentions:
            assert text[one.start : one.end].split() == one.surface.split()


@pytest.mark.parametrize("title", ["A Day", "A Moment of Romance", "The Straw Hat", "An Oslo"])
def test_a_title_that_begins_with_an_article_is_read(title: str):
    text = f"{title} is a film. {title} was shown in Oslo. Then {title} won a prize."

    [found] = extract_many([text], title=title)

    assert title in {one.surface for one in found.mentions}


def test_a_name_found_with_its_article_is_found_again_without_an_error():
    text = "A Day was a film. The Day was another. Day by day they were shown."

    names = [make_mention(text, "A Day"), make_mention(text, "The Day")]

    assert {one.surface for one in repeated_names(text, names)} <= {"Day", "A Day", "The Day"}


@pytest.mark.parametrize(
    ("title", "text", "fact"),
    [
        (
            "Playing It Wild (1923 film)",
            "Playing It Wild is a silent western directed by William Duncan.",
            ("Playing It Wild", "directed by", "William Duncan"),
        ),
        (
            "Waiting for the Clouds",
            "Nobody knew the place. In Oslo they showed Waiting for the Clouds.",
            ("Oslo", "", "Waiting for the Clouds"),
        ),
        ("静静的河湾", "静静的河湾是北京的一部作品。", ("静静的河湾", "是…的一部作品", "北京")),
    ],
)
def test_a_title_stands_in_facts_like_other_names(title: str, text: str, fact: tuple[str, ...]):
    found = extract(text, title=title)

    names = [mention.surface for mention in found.mentions]
    facts = {(names[one.source], one.predicate, names[one.target]) for one in found.relations}
    assert fact in facts
