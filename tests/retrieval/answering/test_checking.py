from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kb_project.llm.fake import FakeChat, FakeEmbedder
from kb_project.text.values import missing_names, missing_numbers
from retrieval.answering.checking import check, check_all, likely_number, to_compare
from retrieval.answering.citations.citing import ModelSentence, cite, cited_passages
from retrieval.answering.citations.labels import Numbering
from retrieval.answering.drafts import WrittenSentence
from retrieval.search.results import Hit

LOG = (
    "Ada Lind keeps the Skarrow light. She came to Skarrow on 11 May 1987 with two dogs."
    " The lamp burns 1,200 litres of oil a year. No boat comes on Mondays."
)
ROADS = "The quarry road is closed in winter."


def hit(number, text, title="Keepers of Orran"):
    return Hit(UUID(int=number), UUID(int=9), title, (), None, 40, 40 + len(text), 1.0, text, ())


NUMBERING = Numbering([hit(1, LOG), hit(2, ROADS, "Roads")])


def verdict(text, *numbers, likeness=None):
    found = check(cite(ModelSentence(text, numbers), NUMBERING), likeness)
    return found and (found.verdict, found.by)


@pytest.mark.parametrize(
    "text",
    [
        "Ada Lind keeps the Skarrow light.",
        'The log says "Ada Lind keeps the Skarrow light".',
        "The Skarrow light is what Ada Lind keeps.",
        "She came to Skarrow in May 1987.",
        "She came to Skarrow on 1987-05-11.",
        "She came to Skarrow with 2 dogs.",
        "The lamp burns 1200 litres of oil each year.",
        "1. The lamp burns oil.",
        "There is no boat on Mondays.",
    ],
)
def test_what_the_spans_say_is_supported(text):
    assert verdict(text, 1)[0] == "supported"


@pytest.mark.parametrize(
    "text",
    [
        "She came to Skarrow on 12 May 1987.",
        "She came to Skarrow in 1988.",
        "Ada Berg keeps the Skarrow light.",
        "The keeper Bo Strand keeps the Skarrow light.",
        "The lamp burns 1,300 litres of oil a year.",
        "Ada Lind does not keep the Skarrow light.",
        "Whales eat cheese under the moon.",
        "The quarry road is closed in winter.",
    ],
)
def test_another_number_name_or_matter_is_not(text):
    assert verdict(text, 1)[0] == "unsupported"


def test_what_is_not_cited_is_unsupported_and_what_is_no_statement_is_not_checked():
    assert verdict("Whales eat cheese.") == ("unsupported", "likeness")
    assert verdict("Whales eat cheese.", 0) == ("general", "marker")
    assert verdict("## Keepers of the light") is None
    assert verdict("These are the keepers:") is None
    assert verdict("The documents do not say when she left.") is None
    assert verdict("文档没有说明她何时离开。") is None


def test_other_words_are_support_where_the_embedder_finds_them_alike():
    text = "Petroleum feeds the lantern."

    assert verdict(text, 1, likeness=lambda *_: 0.1)[0] == "unsupported"
    assert verdict(text, 1, likeness=lambda *_: 0.8)[0] == "supported"
    assert verdict("Petroleum feeds 77 lanterns.", 1, likeness=lambda *_: 0.9)[0] == "unsupported"


def test_a_part_of_a_sentence_that_the_whole_of_it_denies_is_no_quote():
    text = "Nobody who was ever asked on the island believes that the lamp burns oil."
    cited = cite(ModelSentence("The lamp burns oil.", (1,)), Numbering([hit(1, text)]))

    assert not cited.is_quote
    assert cited.spans[0].end - cited.spans[0].start == len(text)


def test_quotes_are_not_sent_to_the_embedder():
    cited = [
        cite(ModelSentence(text, (1,)), NUMBERING) for text in ("The lamp burns oil.", LOG[:33])
    ]

    assert LOG[:33] not in to_compare(cited)
    assert to_compare([cite(ModelSentence("Nothing.", ()), NUMBERING)]) == []


def test_a_forgotten_citation_is_given_only_beyond_doubt():
    hits = {1: NUMBERING.hits[0], 2: NUMBERING.hits[1]}

    assert likely_number("The quarry road is closed.", hits) == 2
    assert likely_number("The road may be open in summer.", hits) == 0
    assert likely_number("Anything.", {}) == 0


def test_a_passage_has_one_number_and_all_its_spans():
    cited = [
        cite(ModelSentence(text, (1,)), NUMBERING)
        for text in ("Ada Lind keeps the Skarrow light.", "The lamp burns oil.")
    ]

    [passage] = cited_passages([WrittenSentence(o.said.text, o.spans) for o in cited], NUMBERING)

    assert passage.number == 1
    assert len(passage.spans) == 2
    assert passage.quote == LOG[passage.start - 40 : passage.end - 40]
    assert (passage.start, passage.end) == passage.spans[0]


@pytest.mark.parametrize(
    ("sentence", "source", "missing"),
    [
        ("It was 40 years.", "It was forty years, or 41.", {"40"}),
        ("It has 3 doors.", "It has three doors.", set()),
        ("It cost 1,200.50.", "It cost 1200.50.", set()),
        ("It cost 1.200 crowns.", "It cost 1,200 crowns.", set()),
        ("On 5 March.", "On 2001-03-05.", set()),
        ("In 1987.", "一九八七年", set()),
        ("In 1987.", "1988年", {"1987"}),
    ],
)
def test_numbers_are_compared_in_any_usual_form(sentence, source, missing):
    assert missing_numbers(sentence, source) == missing


@pytest.mark.parametrize(
    ("sentence", "source", "missing"),
    [
        ("There Ada Lind lived.", "ada lind lived", set()),
        ("There Ada Lind lived.", "阿达住在那里", set()),
        ("Dort wohnt die Wärterin Ada.", "Ada is the keeper there", set()),
        ("In May the Orran light shone.", "On 2001-05-01 the Skarrow light shone", {"orran"}),
    ],
)
def test_names_are_compared_where_they_can_be(sentence, source, missing):
    assert missing_names(sentence, source) == missing


class CountingEmbedder(FakeEmbedder):
    def __init__(self):
        super().__init__()
        self.texts = []

    def embed_passages(self, texts):
        self.texts += texts
        return super().embed_passages(texts)


def checked_with(judge, *texts):
    """What came out, and the texts that were embedded for it."""
    embedder = CountingEmbedder()
    found: Any = SimpleNamespace(
        query=SimpleNamespace(vector=SimpleNamespace(embedder=embedder), question_id=None)
    )
    said = [ModelSentence(text, (1,)) for text in texts]
    return check_all(said, NUMBERING, found, judge), embedder.texts


CLEAR = "Ada Lind arrived at the Skarrow light on 11 May 1987 with her two dogs."
UNCLEAR = "Petroleum feeds lanterns."


def test_what_a_judge_decides_waits_for_no_embedding():
    judge = FakeChat(lambda _: {"verdicts": [{"sentence": 1, "verdict": "supported"}]})

    checked, embedded = checked_with(judge, CLEAR)

    assert [one.check.verdict for one in checked.sentences] == ["supported"]
    assert embedded == []


def test_where_words_do_not_show_what_is_cited_the_embedder_does_before_the_judge_is_asked():
    judge = FakeChat(lambda _: {"verdicts": [{"sentence": 1, "verdict": "unsupported"}]})

    checked, embedded = checked_with(judge, UNCLEAR)

    assert [one.check.verdict for one in checked.sentences] == ["unsupported"]
    assert UNCLEAR in embedded


def test_a_judgement_of_other_sentences_is_asked_for_again_and_never_kept():
    numbers = iter([7, 1])
    judge = FakeChat(lambda _: {"verdicts": [{"sentence": next(numbers), "verdict": "supported"}]})

    checked, _ = checked_with(judge, CLEAR)

    assert checked.sentences[0].check.by == "fake-model"
    assert "have the numbers [1]" in judge.provider.calls[-1].text
    assert len(judge.store.replies) == 1

    wrong = FakeChat(lambda _: {"verdicts": [{"sentence": 7, "verdict": "supported"}]})
    fallen_back, _ = checked_with(wrong, CLEAR)
    assert fallen_back.sentences[0].check.by == "likeness"
    assert not wrong.store.replies


def test_a_sentence_without_a_verdict_is_compared_after_all():
    checked, embedded = checked_with(FakeChat(lambda _: {"verdicts": []}), CLEAR)

    assert checked.sentences[0].check.by == "likeness"
    assert CLEAR in embedded
