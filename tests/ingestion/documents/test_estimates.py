from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from ingestion.documents import estimates
from ingestion.documents.cost_model import (
    NOTHING,
    Conditions,
    Estimate,
    Extent,
    Habit,
    History,
    Price,
    Range,
    estimate,
    extraction_of,
    situating_of,
)
from ingestion.documents.estimates import extent_of_file, passages_of
from workspaces.usage.queries import UsageLine

PRICE = Price(prompt=1.0, cached_prompt=0.1, completion=4.0)
PRICES = dict.fromkeys(("extract", "situate", "summarise"), PRICE)
CONDITIONS = Conditions(
    gleanings=1,
    chunk_tokens=800,
    chunk_overlap=100,
    input_limit=12_000,
    concurrency=8,
    prices=PRICES,
)


def exact(tokens: int, passages: int, **known: int) -> Extent:
    extracted, situated = known.get("known_extractions", 0), known.get("known_situations", 0)
    return Extent(Range(tokens, tokens), Range(passages, passages), extracted, situated)


def is_a_range(range_: Range) -> bool:
    return 0 <= range_.low <= range_.high


# --- how much there is ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("tokens", "passages"), [(0, 1), (1, 1), (800, 1), (801, 2), (1500, 2), (1501, 3)]
)
def test_passages_overlap(tokens: int, passages: int):
    assert passages_of(tokens, CONDITIONS, 1.0) == passages


def test_an_overlap_as_large_as_the_passage_ends_all_the_same():
    assert passages_of(2000, replace(CONDITIONS, chunk_overlap=800), 1.0) == 1201


def test_passages_that_stay_situated_are_not_asked_about():
    fresh = exact(8_000, 10, known_situations=4)
    situated = replace(fresh, is_situated=True)

    assert situating_of(fresh, CONDITIONS).calls == Range(6, 6)
    assert situating_of(situated, CONDITIONS).calls == NOTHING
    assert estimate([situated], CONDITIONS).known == 0


def test_a_text_file_has_a_token_for_a_few_bytes():
    extent = extent_of_file("carol.txt", 170_000, CONDITIONS)

    assert extent.tokens.low < 40_000 < extent.tokens.high
    assert extent.passages.low < 60 < extent.passages.high


def test_a_scan_may_hold_next_to_nothing():
    scan, text = (extent_of_file(f"a.{end}", 10_000_000, CONDITIONS) for end in ("pdf", "txt"))

    assert scan.tokens.low < text.tokens.low / 50


def test_an_empty_file_has_no_passages():
    assert extent_of_file("a.txt", 0, CONDITIONS).passages == NOTHING


def test_reports_and_summaries_grow_with_passages_and_documents():
    one, many = estimate([exact(8000, 10)], CONDITIONS), estimate([exact(800, 1)] * 10, CONDITIONS)
    read = Range(20, 20)

    assert one.calls.high - situating_of(exact(8000, 10), CONDITIONS).calls.high > read.high
    assert many.calls.high > read.high + 10
    assert many.calls.high < 1.5 * many.calls.low


@given(name=st.sampled_from(["a.txt", "a.PDF", "a.docx", "a", "a.csv", ""]), size=st.integers(0))
def test_whatever_the_file_there_is_a_range(name: str, size: int):
    extent = extent_of_file(name, min(size, 2**40), CONDITIONS)

    assert is_a_range(extent.tokens)
    assert is_a_range(extent.passages)


# --- how much work it is --------------------------------------------------------------------------
def test_extraction_is_a_call_a_passage_and_its_gleanings():
    effort = extraction_of(exact(8000, 10), replace(CONDITIONS, gleanings=2))

    assert effort.calls == Range(20, 30)


def test_no_gleanings_is_one_call_a_passage():
    effort = extraction_of(exact(8000, 10), replace(CONDITIONS, gleanings=0))

    assert effort.calls == Range(10, 10)


def test_a_document_of_one_passage_is_not_situated():
    assert situating_of(exact(700, 1), CONDITIONS).calls == NOTHING


def test_situating_shows_the_document_each_time():
    effort = situating_of(exact(8000, 10), CONDITIONS)

    assert effort.calls == Range(10, 10)
    assert effort.prompt.low > 10 * 8000


def test_of_a_long_document_an_outline_and_the_surroundings_are_shown():
    effort = situating_of(exact(800_000, 1000), CONDITIONS)

    assert 1000 * (2_400 + 800) < effort.prompt.high < 1000 * (4_000 + 800)


def test_a_document_that_may_be_shown_whole_may_take_more_than_a_longer_one():
    extent = Extent(Range(2_000, 20_000), Range(3, 30))

    prompt = situating_of(extent, CONDITIONS).prompt

    assert prompt.high >= situating_of(exact(8_000, 12), CONDITIONS).prompt.high
    assert prompt.low == situating_of(exact(2_000, 3), CONDITIONS).prompt.low


def test_a_cached_prefix_makes_situating_cheaper():
    with_cache = situating_of(exact(8000, 10), CONDITIONS).cost
    dear = Price(prompt=1.0, cached_prompt=1.0, completion=4.0)
    without = situating_of(exact(8000, 10), replace(CONDITIONS, prices={"situate": dear})).cost

    assert with_cache
    assert without
    assert with_cache.low < without.low / 3
    assert with_cache.high == pytest.approx(without.high)


def test_a_cache_that_is_paid_for_and_never_found_again_costs_its_surcharge():
    extent, charged = exact(8000, 10), Price(1.0, 0.1, 4.0, write_surcharge=0.25)
    plain = situating_of(extent, CONDITIONS)
    paid = situating_of(extent, replace(CONDITIONS, prices={"situate": charged}))

    assert plain.cost
    assert paid.cost
    assert paid.cost.low == plain.cost.low
    assert plain.cost.high < paid.cost.high < 1.25 * plain.cost.high


def test_what_was_answered_before_costs_nothing():
    found = estimate(
        [exact(8000, 10, known_extractions=10, known_situations=10)], CONDITIONS, left=1.0
    )

    assert found.is_free
    assert found.known == 20
    assert found.cost == NOTHING


def test_half_of_it_known_halves_it():
    whole = extraction_of(exact(8000, 10), CONDITIONS)
    half = extraction_of(exact(8000, 10, known_extractions=5), CONDITIONS)

    assert half.cost
    assert whole.cost
    assert half.cost.high == pytest.approx(whole.cost.high / 2)


def test_the_local_tier_costs_nothing():
    found = estimate([exact(8000, 10)], None)

    assert found.is_free
    assert (found.passages, found.cost, found.seconds) == (Range(10, 10), NOTHING, NOTHING)


def test_without_a_price_the_cost_is_not_known_but_the_tokens_are():
    found = estimate([exact(8000, 10)], replace(CONDITIONS, prices={"extract": PRICE}))

    assert found.cost is None
    assert found.prompt_tokens.low > 8000


def test_the_allowance_is_what_the_ledger_says_when_it_says_something():
    usual = estimate([exact(8000, 10)], CONDITIONS)
    frugal = estimate([exact(8000, 10)], replace(CONDITIONS, history=History(share=0.01)))

    assert frugal.prompt_tokens.high < usual.prompt_tokens.high
    assert frugal.calls == usual.calls


def test_a_change_takes_what_is_above_it_and_a_share_of_the_rest():
    stages = {
        "extract": Habit(calls=40, prompt=40_000, completion=8_000, passages=20),
        "tree": Habit(calls=5, prompt=20_000, completion=500),
        "describe": Habit(calls=20, prompt=10_000, completion=2_000),
    }
    known = replace(CONDITIONS, history=History(answer=400, share=1.0, stages=stages))
    one_changes = exact(8_000, 10, known_extractions=9, known_situations=9)
    unchanged = exact(8_000, 10, known_extractions=10, known_situations=10)

    found = estimate([replace(one_changes, above={"tree": Range(3, 3)})], known)

    read = 1 + 2
    assert found.calls == Range(read + 3, read + 3 + 2)
    assert found.prompt_tokens.low < 3 * 20_000 / 5 + 3 * 1_000 + 8_000 < found.prompt_tokens.high
    assert estimate([replace(unchanged, above={})], known).is_free


def test_a_passage_that_said_much_is_expected_to_say_much_again():
    known = replace(CONDITIONS, history=History(answer=400))
    usual, rich = exact(8_000, 10), replace(exact(8_000, 10), answer=4_000)

    assert extraction_of(usual, known).completion == Range(2_800, 5_600)
    assert extraction_of(rich, known).completion == Range(28_000, 56_000)


def test_more_calls_at_once_take_less_time():
    slow = estimate([exact(8000, 10)], replace(CONDITIONS, concurrency=1)).seconds
    fast = estimate([exact(8000, 10)], replace(CONDITIONS, concurrency=8)).seconds

    assert slow.high == pytest.approx(8 * fast.high)


@given(
    tokens=st.integers(0, 10**7),
    passages=st.integers(0, 10**4),
    gleanings=st.integers(0, 5),
    known=st.integers(0, 10**4),
    limit=st.integers(1, 10**6),
)
def test_every_estimate_is_a_range(
    tokens: int, passages: int, gleanings: int, known: int, limit: int
):
    conditions = replace(CONDITIONS, gleanings=gleanings, input_limit=limit)

    found = estimate([exact(tokens, passages, known_extractions=known)] * 2, conditions)

    assert found.cost is not None
    for range_ in (found.calls, found.prompt_tokens, found.completion_tokens, found.cost):
        assert is_a_range(range_)


# --- in words -------------------------------------------------------------------------------------
def test_the_local_tier_is_one_sentence():
    words = estimates.sentences(estimate([exact(8000, 10)], None))

    assert words == ["Costs nothing: no model is called."]


def test_a_budget_that_suffices_is_named_and_no_more():
    words = estimates.sentences(estimate([exact(8000, 10)], CONDITIONS, left=50.0))

    assert words[-1] == "50.00 of the budget is left."


def test_a_budget_that_will_not_suffice_is_said_with_what_happens_then():
    words = estimates.sentences(estimate([exact(8000, 10)], CONDITIONS, left=0.00001))

    assert "will not be enough" in words[-1]
    assert "keeps everything done" in words[-1]


def test_a_budget_that_may_not_suffice_is_said_so():
    found = estimate([exact(8000, 10)], CONDITIONS)
    assert found.cost

    words = estimates.sentences(replace(found, left=(found.cost.low + found.cost.high) / 2))

    assert "may not be enough" in words[-1]


def test_a_missing_price_is_said():
    words = estimates.sentences(estimate([exact(8000, 10)], replace(CONDITIONS, prices={})))

    assert "no price is set" in " ".join(words)


def test_what_is_known_already_is_said():
    found = estimate([exact(8000, 10, known_extractions=1)], CONDITIONS)

    assert "1 answer is already known and costs nothing." in estimates.sentences(found)


def test_all_known_costs_nothing():
    found = Estimate(1, Range(3, 3), known=6, uses_model=True)

    assert estimates.sentences(found) == ["Costs nothing: every answer is in the cache."]


@given(st.floats(0, 1e7))
def test_money_is_never_in_powers_of_ten(amount: float):
    assert "e" not in estimates.money(amount).replace("less than", "")


def test_what_was_spent_says_what_was_free():
    usage = UsageLine("", calls=5, cached=2, failed=1, prompt_tokens=1000, completion_tokens=234)

    assert estimates.spent(usage, what="Reading it") == [
        "Reading it took 3 calls and 1,234 tokens.",
        "2 of 5 answers came from the cache and cost nothing.",
        "1 of them failed.",
    ]


def test_passages_read_without_the_model_cost_only_what_is_written_about_them():
    extent = Extent(Range(4_000, 4_000), Range(5, 5))

    whole = estimate([extent], CONDITIONS)
    written = estimate([extent], replace(CONDITIONS, local_extraction=True))

    assert 0 < written.calls.high < whole.calls.high - extent.passages.high
    assert written.uses_model
