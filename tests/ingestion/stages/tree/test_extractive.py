from __future__ import annotations

from uuid import UUID

from hypothesis import given, strategies as st

from ingestion.stages.tree.growth import Item, Quote
from ingestion.stages.tree.writing import EXTRACT_TOKENS, LONGEST_QUOTE, cost, summarise
from kb_project.text.words import terms


def chunk(text: str, *, number: int = 1, start: int = 0) -> Item:
    return Item(UUID(int=number), is_chunk=True, text=text, tokens=1, start=start)


def test_what_several_passages_say_is_chosen_before_what_one_says():
    lamp = "The lamp of Skarrow burns oil."
    items = [
        chunk(f"{lamp} A cat slept. " + "Nobody came by on a grey day. " * 20, number=1),
        chunk("The lamp of Skarrow burns no gas. " + "Much else was talked about. " * 20, number=2),
    ]

    assert lamp in summarise(items).text


def test_sentences_stand_in_the_order_of_their_passages():
    items = [chunk("Ada keeps the light."), chunk("Olaf rows to Ada.", number=2, start=50)]

    summary = summarise(items)

    assert summary.text == "Ada keeps the light. Olaf rows to Ada."
    assert [(source.chunk, source.start, source.end) for source in summary.sources] == [
        (UUID(int=1), 0, 20),
        (UUID(int=2), 50, 67),
    ]


def test_a_summary_is_short_however_long_its_passages_are():
    items = [chunk(f"Keeper {i} lit lamp {i} of house {i}. " * 200, number=i) for i in range(9)]

    summary = summarise(items)

    assert summary.tokens <= 1.5 * EXTRACT_TOKENS


def test_the_same_sentence_is_not_said_twice():
    items = [chunk("The lamp burns oil. The lamp burns oil.", number=i) for i in range(4)]

    assert summarise(items).text == "The lamp burns oil."


def test_a_sentence_without_end_is_cut_with_its_span():
    text = "oil and " * 400

    [source] = summarise([chunk(text, start=7)]).sources

    assert source.end - source.start == len(source.text) <= LONGEST_QUOTE
    assert text[source.start - 7 : source.end - 7] == source.text


def test_summaries_of_summaries_quote_the_same_places():
    sentence = Quote("Ada keeps the light.", UUID(int=9), 3, 23)
    node = Item(UUID(int=1), is_chunk=False, text="…", tokens=1, sources=(sentence,))

    assert summarise([node]).sources == (sentence,)


def test_what_a_model_wrote_is_quoted_without_a_place():
    node = Item(UUID(int=1), is_chunk=False, text="Ada keeps it.", tokens=1)

    summary = summarise([node, chunk("Olaf rows to Ada.", number=2)])

    assert (summary.text, summary.sources) == ("Ada keeps it. Olaf rows to Ada.", ())


def test_chinese_is_summarised_too():
    summary = summarise([chunk("灯塔燃烧油。猫睡了。"), chunk("灯塔不燃烧煤气。", number=2)])

    assert "灯塔燃烧油。" in summary.text


@given(st.lists(st.text(max_size=200), min_size=1, max_size=5))
def test_any_passages_have_a_summary(texts: list[str]):
    summary = summarise([chunk(text, number=i) for i, text in enumerate(texts)])

    assert summary.text
    assert summary.tokens > 0
    for source in summary.sources:
        quote = texts[source.chunk.int][source.start : source.end]
        assert terms(quote) == terms(source.text)


def test_the_cost_of_a_text_is_about_its_tokens():
    assert cost("The lamp of Skarrow burns oil.") == 7.5
    assert cost("灯塔燃烧油") == 3.75
