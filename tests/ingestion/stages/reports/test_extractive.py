from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from ingestion.stages.reports.extractive import (
    MOST_FINDINGS,
    MOST_SUMMARY,
    Member,
    Sentence,
    Topic,
    choose,
    rating,
    reason,
    shape,
    write,
)

A, B, C, D = (UUID(int=number) for number in range(1, 5))
WORDS = [
    "amber",
    "brook",
    "cedar",
    "delta",
    "ember",
    "frost",
    "grove",
    "heath",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "marsh",
]


def sentence(
    text: str,
    *entities: UUID,
    document: int = 1,
    start: int = 0,
    introduces: Sequence[UUID] = (),
    under: Sequence[str] = (),
    **facts: bool,
) -> Sentence:
    return Sentence(
        chunk=UUID(int=500 + document),
        document=UUID(int=document),
        start=start,
        end=start + len(text),
        text=text,
        entities=frozenset(entities),
        introduces=frozenset(introduces),
        under=tuple(under),
        **facts,
    )


def about(number: int, *entities: UUID, document: int = 1) -> Sentence:
    """A well-formed sentence unlike every other."""
    text = (
        f"The {WORDS[number % 13]} keeper number {number} kept ledger {number * 7} quite {number}x."
    )
    return sentence(text, *entities, document=document, start=number * 100)


def member(number: int, name: str, pull: float, type_: str = "person") -> Member:
    return Member(UUID(int=number), name, type_, pull)


SENTENCES = st.lists(
    st.builds(
        about,
        st.integers(0, 60),
        st.sampled_from([A, B, C, D]),
        st.sampled_from([A, B, C, D]),
        document=st.integers(1, 4),
    ),
    max_size=40,
    unique_by=lambda one: (one.document, one.start),
)
PULLS = {A: 4.0, B: 2.0, C: 1.0, D: 0.5}


@given(SENTENCES)
def test_only_given_sentences_are_chosen_and_none_twice(sentences: list[Sentence]):
    chosen = choose(sentences, PULLS)

    assert set(chosen) <= set(sentences)
    assert len(set(chosen)) == len(chosen) <= MOST_SUMMARY + MOST_FINDINGS


@given(SENTENCES, st.randoms(use_true_random=False))
def test_the_order_of_the_sentences_changes_nothing(sentences: list[Sentence], random):
    expected = choose(sentences, PULLS)
    random.shuffle(sentences)

    assert choose(sentences, PULLS) == expected


@given(SENTENCES)
def test_a_report_quotes_each_sentence_once(sentences: list[Sentence]):
    report = write(Topic(members=(), sentences=tuple(sentences)))

    quoted = [*report.summary_sentences, *report.findings]
    assert len(quoted) == len(set(quoted))
    assert all(one.text in report.summary for one in report.summary_sentences)
    assert bool(report.summary) == bool(sentences)


def test_the_entities_that_matter_most_come_first():
    minor, major = about(1, D), about(2, A)

    assert choose([minor, major], PULLS) == [major, minor]


class LookedUp(dict[UUID, float]):
    """The members of a topic of a hundred thousand: nothing goes through all of them."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("went through all members")

    keys = values = items = __iter__


def test_a_sentence_asks_for_its_own_entities_alone():
    new = sentence("Ada Lind keeps the light at Selm Point.", A, introduces=[A])

    assert choose([about(1, B), new], LookedUp(PULLS)) == [new, about(1, B)]


def test_what_is_covered_gives_way_to_what_is_new():
    first, again, new = about(1, A, B), about(2, A, document=2), about(3, C, D, document=3)

    assert choose([first, again, new], PULLS | {C: 1.5, D: 1.0}) == [first, new, again]


def test_another_document_gets_its_say():
    first, same, other = about(1, A), about(2, A), about(3, A, document=2)

    assert choose([first, same, other], PULLS) == [first, other, same]


def test_a_near_copy_is_left_out():
    original = sentence("The harbour master of Selm keeps the old lighthouse ledger.", A)
    copy = sentence("The harbour master of Selm keeps the lighthouse ledger.", A, document=2)

    assert len(choose([original, copy], PULLS)) == 1


def test_a_list_of_names_does_not_win_by_its_length():
    many = {UUID(int=number): 1.0 for number in range(10, 40)}
    names = about(1, *many)
    telling = sentence("Ada founded the Harbour Trust in 1911.", A, B, states=True, start=900)

    assert choose([names, telling], many | {A: 5.0, B: 4.0})[0] == telling


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("Ada founded the Harbour Trust in 1911.", "He founded the Harbour Trust in 1911."),
        ("Ada founded the Harbour Trust in 1911.", "Ada founded the Harbour Trust in 1911"),
        ("Ada founded the Harbour Trust in 1911.", "Who founded the Harbour Trust in 1911?"),
        ("Ada founded the Harbour Trust in 1911.", "Ada did."),
        ("Ada founded the Harbour Trust in 1911.", "'Ada founded the Harbour Trust in 1911.'"),
        ("Ada founded the Harbour Trust in 1911.", "BOARD OF THE TRUST: ADA, BEA AND CID 1911."),
        ("Ada founded the Harbour Trust in 1911.", "Ada Lind showed them the Harbour Trust."),
        ("Ada founded the Harbour Trust in 1911.", "Present: Ada Lind, Bea Holm and Cid Ray."),
        ("Ada founded the Harbour Trust in 1911.", "1846) Ada (Lind) founded the Trust."),
        ("Ada founded the Harbour Trust in 1911.", "Ada, " + "and then another, " * 40 + "left."),
        ("Ada founded the Harbour Trust in 1911.", "If Ada founds it, the Trust is old."),
        ("Ada founded the Harbour Trust in 1911.", "The following boats belong to the Trust."),
        ("Ada founded the Harbour Trust in 1911.", "As we see, Ada founded the Harbour Trust."),
        ("The Harbour Trust is a body of 1911.", "The Harbour Trust was made by 1911."),
        ("朱元璋在一三六八年建立了明朝,定都应天府。", "他在一三六八年建立了明朝,定都应天府。"),
        ("朱元璋在一三六八年建立了明朝,定都应天府。", "朱元璋在一三六八年建立了明朝"),
    ],
)
def test_a_sentence_that_stands_alone_is_better(better: str, worse: str):
    assert shape(sentence(better)) > shape(sentence(worse))


def test_a_stated_relationship_and_the_beginning_of_a_document_count():
    plain = sentence("Ada founded the Harbour Trust in 1911.")

    assert shape(replace(plain, states=True)) > shape(plain)
    assert shape(replace(plain, leads=True)) > shape(plain)


def test_names_that_only_begin_like_a_pronoun_are_no_pronouns():
    assert shape(sentence("Hector founded the Harbour Trust in 1911.")) == 1.0
    assert shape(sentence("Italy founded the Harbour Trust in 1911 too.")) == 1.0


def test_a_report_opens_with_what_its_title_is():
    members = member(1, "Ada Lind", 9), member(2, "Skarrow Light", 1, "place")
    louder = sentence("Ada Lind founded the Harbour Trust in 1911.", A, states=True)
    opening = sentence(
        "Skarrow Light is a tower on a reef in the west.", B, introduces=[B], start=99
    )

    report = write(Topic(members, (louder, opening), title="Skarrow Light"))

    assert report.summary_sentences == (opening,)


def test_a_report_without_a_name_in_its_title_opens_with_its_chief_member():
    members = member(1, "Ada Lind", 2), member(2, "Bea Holm", 1)
    plain = sentence("Bea Holm followed Ada Lind at the Harbour Trust in 1911.", A, B, states=True)
    opening = sentence(
        "Ada Lind was the founder of the Harbour Trust.", A, introduces=[A], start=99
    )

    report = write(Topic(members, (plain, opening), title="Minutes"))

    assert report.summary_sentences == (opening,)


def test_a_poor_introduction_opens_nothing():
    members = member(1, "Ada Lind", 2), member(2, "Bea Holm", 1)
    plain = sentence("Bea Holm followed Ada Lind at the Harbour Trust in 1911.", A, B, states=True)
    poor = sentence("Ada Lind was uneasy.", A, introduces=[A], start=99)

    assert write(Topic(members, (plain, poor))).summary_sentences == (plain,)


COMMUNE = sentence(
    "Workers took over the closed factories of the town in 1871.", B, under=["The Paris Commune"]
)
CODEX = sentence(
    "The Paris Codex was found again in a chimney corner in 1859.", A, document=2, introduces=[A]
)


def test_a_report_opens_with_a_sentence_from_under_its_title():
    members = member(1, "Paris", 2, "place"), member(2, "Workers", 2)

    report = write(Topic(members, (CODEX, COMMUNE), title="The Paris Commune"))

    assert report.summary_sentences == (COMMUNE,)


def test_what_has_the_topics_title_as_its_name_is_introduced_wherever_that_stands():
    members = member(1, "Paris", 2, "place"), member(2, "Workers", 2)

    report = write(Topic(members, (CODEX, COMMUNE), title="Paris and Workers"))

    assert report.summary_sentences == (CODEX,)


def test_a_document_with_much_about_the_topic_comes_before_one_that_names_it_once():
    guest = sentence("Ada Lind visited the observatory of Selm in 1911.", A, B, document=2)
    home = [replace(about(number, A), text=f"Ada {about(number).text}") for number in (1, 2, 3)]
    members = member(1, "Ada Lind", 4), member(2, "Bea Holm", 1)

    report = write(Topic(members, (guest, *home), title="Minutes"))

    assert report.summary_sentences[0] in home


def test_words_of_the_title_of_what_belongs_to_no_topic_mean_nothing():
    other = sentence("Other topics were left to the Harbour Trust of Selm in 1911.", B)
    plain = sentence("Ada Lind was the founder of the Harbour Trust in 1911.", A)
    members = member(1, "Ada Lind", 2), member(2, "Bea Holm", 1)

    report = write(Topic(members, (other, plain), title="Other topics"))

    assert report.summary_sentences == (plain,)


def test_sentences_in_the_script_of_the_topic_come_before_others():
    texts = "Ada founded the Harbour Trust in 1911.", "Bea followed Ada in the spring of 1920."
    english = [
        sentence(text, id_, document=n)
        for n, (text, id_) in enumerate(zip(texts, (B, C), strict=True))
    ]
    chinese = sentence("朱元璋在一三六八年建立了明朝，定都应天府。", A, document=3)

    assert choose([chinese, *english], PULLS | {C: 1.5})[-1] == chinese


def test_people_and_places_count_before_common_nouns():
    members = (member(1, "old bricks", 5, "concept"), member(2, "Ada", 4))
    things, person = about(1, A), about(2, B, document=2)

    report = write(Topic(members, (things, person)))

    assert report.summary_sentences == (person,)


@pytest.mark.parametrize(("found", "summary"), [(1, 1), (2, 1), (5, 1), (6, 2), (9, 3), (20, 3)])
def test_the_summary_leaves_most_sentences_to_the_findings(found: int, summary: int):
    sentences = [about(number, A, document=number) for number in range(found)]

    report = write(Topic(members=(member(1, "Ada", 2),), sentences=tuple(sentences)))

    assert len(report.summary_sentences) == summary
    assert len(report.findings) == min(found - summary, MOST_FINDINGS)


def test_a_report_says_why_it_is_rated_so():
    topic = Topic((member(1, "Ada", 2), member(2, "Bea", 1)), (), links=1, documents=1)

    report = write(topic)

    assert report.rating == rating(2, 1, 1)
    assert report.reason == "2 entities with 1 fact between them, mentioned in 1 document."
    assert reason(1, 0, 0) == "1 entity with 0 facts between them, mentioned in 0 documents."


@given(*[st.integers(0, 10**6)] * 3)
def test_ratings_lie_between_0_and_10_and_grow(entities: int, links: int, documents: int):
    found = rating(entities, links, documents)

    assert 0 <= found <= 10
    assert rating(entities + 1, links + 1, documents + 1) >= found


def test_a_report_has_its_topics_title():
    assert write(Topic((member(1, "Ada", 2),), (), title="Other topics")).title == "Other topics"


def test_chinese_sentences_are_joined_without_spaces():
    texts = ["朱元璋建立了明朝并定都应天府。", "马皇后劝他少杀功臣也救下了许多人。"]
    sentences = [sentence(text, A, document=n) for n, text in enumerate(texts)] * 3

    def summary(of: Sequence[Sentence]) -> str:
        return write(Topic((member(1, "朱元璋", 2),), tuple(of))).summary

    assert " " not in summary(sentences)
