from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from ingestion.stages.suggest import blocks, naming
from ingestion.stages.suggest.features import Reason
from ingestion.stages.suggest.naming import Common, acronyms
from tests.ingestion.stages.suggest.things import thing

NOTHING = Common()
WORDS = st.sampled_from(
    "Dr Acme Inc of Voar voars University Univ Marley Marlez J Jo Hallgrim Halgrim".split()
)
NAMES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


def reason(one: str, other: str, kind: str = "person", common: Common = NOTHING) -> Reason | None:
    """The weightiest that is said of two names; the same whichever comes first."""
    left, right = thing(one, kind), thing(other, kind)
    found = [look(left, right, common) for look in naming.BY_NAME]
    back = [look(right, left, common) for look in naming.BY_NAME]
    assert [one and one.weight for one in found] == [one and one.weight for one in back]
    assert naming.may_be_one(left, right) or not any(found)
    return max((one for one in found if one), key=lambda one: one.weight, default=None)


def weight(one: str, other: str, kind: str) -> float:
    found = reason(one, other, kind)
    return found.weight if found else 0.0


@pytest.mark.parametrize(
    ("one", "other", "kind", "spelling"),
    [
        ("Stalinist", "Stalinism", "group", ("Stalinist", "Stalnist")),
        ("Korea", "Koreas", "place", ("Hallgrim", "Halgrim")),
        ("Solomon", "Solomons", "person", ("Hallgrim", "Halgrim")),
    ],
)
def test_another_ending_is_no_other_spelling(
    one: str, other: str, kind: str, spelling: tuple[str, str]
):
    assert weight(one, other, kind) < weight(*spelling, kind)


def test_a_word_of_a_term_is_not_the_term():
    assert reason("Details", "Stock Splits Details", "concept") is None
    assert reason("Hallgrim", "Anton Hallgrim", "person")


@pytest.mark.parametrize(
    ("one", "other", "kind", "said"),
    [
        ("Acme Inc.", "Acme", "organization", "same name after removing Inc"),
        ("Dr Anton Hallgrim", "Anton Hallgrim", "person", "same name after removing Dr"),
        ("RV Agnes Tulloch", "Agnes Tulloch", "product", "same name after removing RV"),
        ("St. Rumbold", "Saint Rumbold", "place", "a word spelt differently"),
        ("Deep Shelf", "Deepshelf", "work", "apart from spaces"),
        ("Joanne Rowling", "Rowling, Joanne", "person", "a different order"),
        ("University of Voar", "Voar University", "organization", "a different order"),
        ("Academy of Arts", "Academy for the Arts", "organization", "apart from small words"),
        ("Janis Joplin", "Janis Lyn Joplin", "person", "an extra middle name"),
        ("J. R. Tolkien", "John Ronald Tolkien", "person", "initials match"),
        ("J. Tolkien", "John Ronald Tolkien", "person", "initials match"),
        ("NV Nia Vellacott", "Nia Vellacott", "person", "after its initials"),
        ("Tidewright Digi", "Tidewright Digital", "organization", "abbreviates a word"),
        ("Jacob Marley", "Jacob Marlez", "person", "differ by a letter"),
        ("Billy Elliot", "Billy Elliots", "work", "plural"),
        ("WHO", "World Health Organization", "organization", "are the initials of"),
        ("OCL", "Office of Coastal Lights", "organization", "are the initials of"),
        ("Dr Hesketh", "Dr Marian Hesketh", "person", "is part of"),
        ("Hallgrim", "Anton Hallgrim", "person", "is part of"),
    ],
)
def test_names_of_one_thing_say_why(one: str, other: str, kind: str, said: str):
    found = reason(one, other, kind)

    assert found
    assert said in found.words
    assert found.weight > 1
    assert found.is_of_names


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Jane Eyre", "John Eyre", "person"),
        ("Mary Shelley", "Percy Shelley", "person"),
        ("Hollin Trust", "Hollin Bank", "organization"),
        ("Bob", "Rob", "person"),
        ("who", "World Health Organization", "organization"),
        ("WHA", "World Health Organization", "organization"),
        ("Voar", "Voar Harbour", "place"),
        ("临江光学", "临江电学", "organization"),
        ("Kelder Point", "Tern Point", "place"),
        ("Tuscany", "Guy of Tuscany", "person"),
        ("Holstein-Gottorp", "Duchy of Holstein-Gottorp", "organization"),
        ("Duchess of Voar", "Voar", "place"),
        ("2nd Earl", "John Wallop, 2nd Earl", "person"),
    ],
)
def test_other_names_say_nothing(one: str, other: str, kind: str):
    assert reason(one, other, kind) is None


def test_a_surname_that_many_have_says_little():
    many = Common(words={"smith": 30})
    few = Common(words={"hallgrim": 2})

    common = reason("Smith", "Ada Smith", common=many)
    rare = reason("Hallgrim", "Ada Hallgrim", common=few)

    assert common
    assert rare
    assert rare.weight > 1.5 > 0 > common.weight


def test_two_words_that_are_common_are_no_misspelling():
    both = Common(words={"australian": 20, "austrian": 10})
    one = Common(words={"norwegian": 20, "norwagian": 1})

    words = reason("Australian Opera", "Austrian Opera", "organization", both)
    slip = reason("Norwegian Opera", "Norwagian Opera", "organization", one)

    assert (words.weight if words else 0) < 2 < (slip.weight if slip else 0)


def test_initials_that_fit_many_names_say_less():
    one = reason("CA", "Captain Apache", "work", Common(initials={"ca": 1}))
    many = reason("CA", "Captain Apache", "work", Common(initials={"ca": 8}))

    assert one
    assert many
    assert one.weight > many.weight + 2


def test_what_documents_call_something_too_is_its_name():
    full = thing("Ottilie Crane", aliases=["Tilly"])

    found = naming.alias(full, thing("Tilly"), NOTHING)

    assert found
    assert found.words == "documents also call “Ottilie Crane” “Tilly”"
    assert naming.alias(full, thing("Nelly"), NOTHING) is None
    guy = thing("Guy of Tuscany", aliases=["Tuscany"])
    assert naming.alias(guy, thing("Tuscany"), NOTHING) is None


def test_two_that_are_called_the_same_may_be_one():
    one, other = (
        thing("Ada Lind", aliases=["The Keeper of Voar"]),
        thing("Mrs Brekke", aliases=["Keeper of Voar"]),
    )

    found = naming.alias(one, other, NOTHING)

    assert found
    assert found.words.startswith("both are called “")


def test_a_name_is_shortened_with_and_without_small_words():
    assert acronyms(("office", "of", "coastal", "lights")) == {"ocl", "oocl"}
    assert acronyms(("sea",)) == frozenset()


def test_common_words_are_counted_once_a_name():
    common = blocks.common_in([thing("Sea of Seas"), thing("Sea Sea")])

    assert common.words["sea"] == 2
    assert common.initials["ss"] == 2


@settings(max_examples=200)
@given(NAMES, NAMES)
def test_no_two_names_that_may_be_one_are_passed_over(one: str, other: str):
    for name in (one, one.upper(), one.replace(" ", "")):
        left, right = thing(name), thing(other)
        is_any = any(look(left, right, NOTHING) for look in naming.BY_NAME)
        assert naming.may_be_one(left, right) or not is_any
        assert naming.may_be_one(left, right) == naming.may_be_one(right, left)
