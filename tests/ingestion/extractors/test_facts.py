"""Facts and concepts from parses written by hand: no model decides what these tests see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from ingestion.extractors.english import WORDS_PER_NAME, concepts
from ingestion.extractors.extraction import CONCEPT, NAME, STATED, FoundMention
from ingestion.extractors.facts import Named, stated

Facts = list[tuple[int, str, int]]
VOCAB = spacy.blank("en").vocab


def parse(table: str) -> Any:
    """A parsed text from words written ``word/POS/dep/head``, the head by its place."""
    cells = [cell.split("/") for cell in table.split()]
    words, tags, deps, heads = zip(*cells, strict=True)
    return Doc(
        VOCAB, words=list(words), pos=list(tags), deps=list(deps), heads=list(map(int, heads))
    )


def facts(table: str, names: Sequence[int | None]) -> Facts:
    doc = parse(table)
    named = [
        Named(index, None if place is None else doc[place]) for index, place in enumerate(names)
    ]
    return [
        (fact.source, fact.predicate, fact.target) for fact in stated(named, [(0, len(doc.text))])
    ]


KEEPS = "Ada/PROPN/nsubj/1 keeps/VERB/ROOT/1 Skarrow/PROPN/dobj/1"
JOINED = (
    "Ada/PROPN/nsubj/1 met/VERB/ROOT/1 Olaf/PROPN/dobj/1 and/CCONJ/cc/1 left/VERB/conj/1"
    " Skarrow/PROPN/dobj/4"
)
LISTED = "Ada/PROPN/nsubj/1 met/VERB/ROOT/1 Olaf/PROPN/dobj/1 and/CCONJ/cc/2 Berit/PROPN/conj/2"
PASSIVE = (
    "Skarrow/PROPN/nsubjpass/3 was/AUX/auxpass/3 not/PART/neg/3 built/VERB/ROOT/3"
    " by/ADP/agent/3 Olaf/PROPN/pobj/4"
)
PARTNER = (
    "Marley/PROPN/nsubj/1 was/AUX/ROOT/1 Scrooge/PROPN/poss/4 's/PART/case/2 partner/NOUN/attr/1"
)
DIRECTED = (
    "Skarrow/PROPN/nsubj/1 is/AUX/ROOT/1 a/DET/det/3 film/NOUN/attr/1 directed/VERB/acl/3"
    " by/ADP/agent/4 Olaf/PROPN/pobj/5"
)
SAID = "Ada/PROPN/nsubj/1 said/VERB/ROOT/1 he/PRON/nsubj/3 left/VERB/ccomp/1 Skarrow/PROPN/dobj/3"


@pytest.mark.parametrize(
    ("table", "names", "expected"),
    [
        (KEEPS, [0, 2], [(0, "keeps", 1)]),
        (JOINED, [0, 2, 5], [(0, "met", 1), (0, "left", 2)]),
        (LISTED, [0, 2, 4], [(0, "met", 1), (0, "met", 2)]),
        (PASSIVE, [0, 5], [(0, "was not built by", 1)]),
        (PARTNER, [0, 2], [(0, "was partner of", 1)]),
        (DIRECTED, [0, 6], [(0, "directed by", 1)]),
    ],
)
def test_the_words_between_two_names_are_the_fact(table: str, names: list[int], expected: Facts):
    assert facts(table, names) == expected


TOGETHER = (
    "Ada/PROPN/nsubj/3 and/CCONJ/cc/0 Olaf/PROPN/conj/0 keep/VERB/ROOT/3 Skarrow/PROPN/dobj/3"
)


def test_what_two_do_together_neither_does_to_the_other():
    assert facts(TOGETHER, [0, 2, 4]) == [(0, "keep", 2)]


def test_words_with_another_name_among_them_link_nothing():
    table = KEEPS.replace("keeps/VERB", "keeps/VERB").replace(
        "Skarrow/PROPN/dobj/1", "in/ADP/prep/1"
    )
    table += " Voar/PROPN/pobj/2 Skarrow/PROPN/dobj/1"

    assert (
        facts(
            "Ada/PROPN/nsubj/2 Olaf/PROPN/compound/2 saw/VERB/ROOT/2 Skarrow/PROPN/dobj/2",
            [0, 2, 3],
        )
        == []
    )
    assert facts(table, [0, 4]) == [(0, "keeps", 1)]


def test_the_rules_of_a_table_link_nothing():
    assert facts("Ada/PROPN/nsubj/1 |/NOUN/ROOT/1 Olaf/PROPN/dobj/1", [0, 2]) == []


def test_both_names_stand_in_one_sentence():
    doc = parse(KEEPS)
    named = [Named(0, doc[0]), Named(1, doc[2])]

    assert stated(named, [(0, 5), (5, len(doc.text))]) == []


def test_a_name_in_a_clause_of_its_own_says_nothing_of_the_speaker():
    assert facts(SAID, [0, 4]) == []


@pytest.mark.parametrize("names", [[], [0], [2], [None, 2], [None, None]])
def test_it_takes_two_names_to_state_something(names: list[int | None]):
    assert facts(KEEPS, names) == []


def test_two_mentions_on_one_word_are_one_name():
    assert facts(KEEPS, [0, 0, 2, 2]) == [(0, "keeps", 2)]


@pytest.mark.parametrize("role", ["amod", "compound", "nmod", "nsubj"])
def test_a_name_that_only_describes_is_no_object(role: str):
    assert facts(KEEPS.replace("dobj", role), [0, 2]) == []


def test_a_line_in_capitals_states_nothing():
    assert facts(KEEPS.replace("keeps", "KEEPS"), [0, 2]) == []


def test_a_fact_is_certain_and_rests_on_its_sentence():
    doc = parse(KEEPS)

    (fact,) = stated([Named(0, doc[0]), Named(1, doc[2])], [(0, len(doc.text))])

    assert (fact.kind, fact.strength) == (STATED, 1.0)
    assert doc.text[fact.start : fact.end].strip() == doc.text.strip()


def test_names_too_far_apart_in_the_parse_have_little_to_do_with_each_other():
    chain = [f"of/ADP/prep/{place}" for place in range(1, 9)]
    table = " ".join(["Ada/PROPN/nsubj/1", "saw/VERB/ROOT/1", *chain, "Olaf/PROPN/pobj/9"])

    assert facts(table, [0, 10]) == []


# --- concepts -------------------------------------------------------------------------------------
def found(table: str, names: int = 0) -> list[str]:
    doc = parse(" ".join(f"{cell}/dep/0" for cell in table.split()))
    named = [FoundMention(0, 1, "X", NAME, "x")] * names
    concept_mentions = concepts(doc.text, doc, named)
    assert all(one.type == CONCEPT for one in concept_mentions)
    assert all(doc.text[one.start : one.end] == one.surface for one in concept_mentions)
    return [one.surface for one in concept_mentions]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("learning/NOUN algorithm/NOUN works/VERB", ["learning algorithm"]),
        ("neural/ADJ network/NOUN", ["neural network"]),
        ("the/DET network/NOUN learns/VERB", []),
        ("network/NOUN deep/ADJ", []),
        ("other/ADJ network/NOUN", []),
        ("training/NOUN time/NOUN", []),
        ("of/NOUN it/NOUN", []),
        ("one/NOUN two/NOUN six/NOUN ten/NOUN hub/NOUN", ["two six ten hub"]),
        ("data/NOUN store/NOUN and/CCONJ load/NOUN test/NOUN", ["data store", "load test"]),
        ("running/VERB", []),
    ],
)
def test_a_concept_is_a_compound_noun(table: str, expected: list[str]):
    assert found(table) == expected


def test_where_names_abound_compounds_are_noise():
    text = "load/NOUN test/NOUN " + "and/CCONJ " * (WORDS_PER_NAME - 2)

    assert found(text, names=1) == ["load test"]
    assert found(text, names=2) == []
