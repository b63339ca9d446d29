from __future__ import annotations

from retrieval.search import sought
from retrieval.search.answer import MOST, choose, defines
from retrieval.search.assemble import sentences
from retrieval.search.weights import weigh
from tests.retrieval.search.test_assemble import hit


def chosen(question, *passages, known=None):
    """The texts chosen, best first, when every term of the passages is known to the workspace."""
    wanted = sought.read(question)
    candidates = sentences(passages, {})
    held = {term for one in candidates for term in one.terms | one.around} | set(known or ())
    weights = weigh(wanted, candidates, {term: 1 for term in wanted.terms if term in held})
    return [one.sentence.text for one in choose(candidates, wanted, weights)]


def test_the_sentence_that_covers_the_question_is_chosen():
    passage = hit("The light was lit in 1869. Ada Lind keeps the light. Oil comes by boat.")

    assert chosen("Who keeps the light?", passage)[0] == "Ada Lind keeps the light."


def test_a_sentence_may_rest_on_the_one_before_it():
    passage = hit("Ada Lind came to Skarrow. She had been born in Strand. The tide was out.")

    assert chosen("Where was Ada Lind born?", passage)[0] == "She had been born in Strand."


def test_a_date_is_preferred_where_a_date_is_asked_for():
    passage = hit("The lens was relit by Ada Lind. The lens was relit on 28 September 2024.")

    assert "28 September 2024" in chosen("When was the lens relit?", passage)[0]


def test_the_same_thing_is_not_said_twice():
    first = hit("Ada Lind keeps the light of Skarrow.")
    second = hit("Ada Lind keeps the light of Skarrow!", title="Roads")

    assert len(chosen("Who keeps the light of Skarrow?", first, second)) == 1


def test_two_halves_of_a_question_get_a_sentence_each():
    found = chosen(
        "Who keeps the light, and what does the boat bring?",
        hit("Ada Lind keeps the light. The boat brings oil. It rained all May."),
    )

    assert set(found) == {"Ada Lind keeps the light.", "The boat brings oil."}


def test_a_document_named_in_the_first_sentence_is_the_next_step():
    film = hit("Tide Song is a film directed by Ada Lind.", title="Tide Song")
    person = hit("Ada Lind was born in Strand.", title="Ada Lind")
    other = hit("Per Holm was born in Oslo.", title="Per Holm")

    found = chosen("Where was the director of Tide Song born?", film, person, other)

    assert found[:2] == [
        "Tide Song is a film directed by Ada Lind.",
        "Ada Lind was born in Strand.",
    ]
    assert "Per Holm was born in Oslo." not in found


def test_there_are_never_more_than_a_reader_wants():
    text = " ".join(f"The light of {name} burns." for name in ("Voar", "Skarrow", "Tern", "Hestay"))
    passages = [hit(text, title=f"Lights {number}") for number in range(4)]

    assert len(chosen("What burns the light?", *passages)) <= MOST


def test_nothing_is_chosen_where_nothing_has_to_do_with_the_question():
    assert chosen("Who won the football match?", hit("The tide was out at noon.")) == []
    assert chosen("Who keeps the light?") == []


def test_a_chinese_question_finds_its_sentence():
    passage = hit("工坊创办于1958年。工坊一共浇铸了十四块毛坯。天气很好。", title="报告")

    assert chosen("工坊浇铸了多少块毛坯？", passage)[0] == "工坊一共浇铸了十四块毛坯。"


def test_who_somebody_is_begins_with_the_sentence_that_says_so():
    list_ = hit("Guests: Per Holm, Ada Lind and thirty others came to the lighting of the lamp.")
    life = hit("*Ada Lind*, called Old Ada, was the keeper of Skarrow.", title="Staff")

    assert chosen("Who is Ada Lind?", list_, life)[0].startswith("*Ada Lind*, called")


def test_what_a_name_does_says_not_who_it_is():
    assert not defines("Ada Lind keeps the light. It was built in 1869.", "Ada Lind")
    assert not defines("Old Ada Lind was a keeper.", "Ada Lind")
    assert not defines("Ada Lind said that Per Holm, who is her uncle, fell.", "Ada Lind")
    assert defines("Ada Lind (the chair) is a keeper.", "Ada Lind")
    assert defines("The Great Lens is in Skarrow.", "Great Lens")
    assert defines("朱元璋是皇帝。", "朱元璋")
