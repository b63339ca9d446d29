from __future__ import annotations

from uuid import uuid4

from retrieval.search.answer import Scored
from retrieval.search.assemble import sentences
from retrieval.search.cite import NEAREST, cite, nearest
from tests.retrieval.search.test_assemble import hit

TEXT = "Ada Lind keeps the light. She came in May.  The boat brings oil."


def scored(*found):
    return [Scored(one, 1.0 - place / 10, 0.5, names_kind=False) for place, one in enumerate(found)]


def test_the_quote_is_cut_out_of_the_document():
    document = "A heading of ten words.\n\n" + TEXT
    passage = hit(TEXT, start=25)
    second = sentences([passage], {})[1]

    said, spans = cite(scored(second), [passage])

    assert (said[0].text, said[0].citations) == ("She came in May.", (1,))
    assert document[spans[0].start : spans[0].end] == spans[0].quote == "She came in May."


def test_sentences_that_follow_each_other_share_one_number():
    passage = hit(TEXT)
    first, second, _ = sentences([passage], {})

    said, spans = cite(scored(second, first), [passage])

    assert [one.text for one in said] == ["Ada Lind keeps the light.", "She came in May."]
    assert [one.citations for one in said] == [(1,), (1,)]
    assert [span.quote for span in spans] == ["Ada Lind keeps the light. She came in May."]


def test_sentences_apart_have_numbers_of_their_own():
    passage = hit(TEXT)
    first, _, third = sentences([passage], {})

    said, spans = cite(scored(third, first), [passage])

    assert [one.citations for one in said] == [(1,), (2,)]
    assert [span.number for span in spans] == [1, 2]


def test_the_document_of_the_best_sentence_is_read_first():
    keepers, roads = hit(TEXT), hit("The road is closed. The quarry is open.", title="Roads")
    found = sentences([keepers, roads], {})
    road, light = found[3], found[0]

    said, _ = cite(scored(road, light), [keepers, roads])

    assert [one.text for one in said] == ["The road is closed.", "Ada Lind keeps the light."]


def test_a_line_break_in_a_quote_is_no_line_break_in_the_answer():
    passage = hit("Ada Lind\nkeeps the light.")

    said, spans = cite(scored(*sentences([passage], {})), [passage])

    assert said[0].text == "Ada Lind keeps the light."
    assert spans[0].quote == "Ada Lind\nkeeps the light."


def test_the_nearest_are_the_best_of_each_passage():
    passages = [hit(TEXT, document=uuid4()) for _ in range(NEAREST + 2)]
    found = scored(*sentences(passages, {}))

    best = nearest(found)

    assert len(best) == NEAREST
    assert len({one.sentence.chunk_id for one in best}) == NEAREST
    assert best[0] == found[0]


def test_nothing_chosen_is_nothing_cited():
    assert cite([], []) == ([], [])
