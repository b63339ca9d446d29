"""Statements of passages, and which groups of them are conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import NAMESPACE_OID, UUID, uuid5

from ingestion.stages.conflicts.assertions import Name
from ingestion.stages.conflicts.reading import Dispute, Passage, Said, disputes, statements_of

NAMES = ("John Middleton", "Orran", "Hestay")


def said(number: int, text: str) -> list[Said]:
    names = tuple(
        (uuid5(NAMESPACE_OID, name), Name(at, at + len(name), name.lower(), "name"))
        for name in NAMES
        if (at := text.find(name)) >= 0
    )
    passage = Passage(UUID(int=number), UUID(int=100 + number), 0, text, (), names)
    return list(statements_of(passage, {entity for entity, _ in names}))


def found(*texts: str, together: Sequence[frozenset[str]] = ()) -> list[Dispute]:
    return disputes(
        [one for number, text in enumerate(texts) for one in said(number, text)], together
    )


def test_a_pronoun_speaks_of_the_subject_of_the_sentence_before():
    [one] = found(
        "John Middleton drew plans. He was born in 1820 at sea.", "John Middleton was born in 1822."
    )

    assert (one.label, [side.start for side in one.sides]) == ("date of birth", [27, 0])


def test_two_people_of_one_name_are_not_in_conflict():
    assert not found(
        "John Middleton was born in 1820. He was born in Orran.",
        "John Middleton was born in 1955. He was born in Hestay.",
    )
    assert not found(
        "John Middleton (1820–1885) drew plans.", "John Middleton (1828–1891) drew maps."
    )


def test_documents_that_agree_otherwise_may_differ_in_several_things():
    more = "He was buried in 1890."
    several = found(
        f"John Middleton (1820–1885) drew plans. {more}",
        f"John Middleton (1828–1889) drew maps. {more}",
    )

    assert [one.label for one in several] == ["date of birth", "date of death"]


def test_names_that_are_mentioned_together_are_no_alternatives():
    texts = ("John Middleton was born in Orran.", "John Middleton was born in Hestay.")

    assert len(found(*texts)) == 1
    assert not found(*texts, together=[frozenset({"orran", "hestay"})])


def test_sides_of_different_values_come_first_and_one_passage_gives_a_value_once():
    [one] = found(
        "John Middleton was born in 1820. John Middleton was born in 1820.",
        "John Middleton was born in 1820.",
        "John Middleton was born in 1822.",
    )

    keys = [side.assertion.value.key for side in one.sides]
    assert keys == ["date:1820", "date:1822", "date:1820"]
