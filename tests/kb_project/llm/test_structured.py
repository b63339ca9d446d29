from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel, Field

from kb_project.llm.openai_client import is_strict
from kb_project.llm.structured import (
    DEEPEST,
    LONGEST,
    parse,
    schema_text,
    storable,
    strict_schema,
    without_wrapping,
)
from tests.patience import PATIENCE


class Person(BaseModel):
    name: str = Field(max_length=40)
    age: int | None = None


class Found(BaseModel):
    title: str
    people: list[Person] = []
    score: float = Field(default=0.5, ge=0, le=1)


class Free(BaseModel):
    values: dict[str, int]


ADA = '{"title": "Engines", "people": [{"name": "Ada", "age": 36}]}'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "text",
    [
        ADA,
        f"```json\n{ADA}\n```",
        f"Certainly! Here it is:\n```\n{ADA}\n```\nAnything else?",
        f"<think>Title: {{what}}?</think>\n{ADA}",
        f"Hm, {{a name}} first.</think>{ADA}",
        f"{ADA} and that is all I know",
        f"Here you are: {ADA}",
        ADA.replace('"title"', "'title'").replace('"Engines"', "'Engines'"),
        ADA[:-1],
        ADA.replace('"Ada", ', '"Ada",, '),
        ADA.replace("}]", "},]"),
    ],
)
def test_what_models_wrap_around_json_does_not_matter(text):
    value = parse(text, Found).value

    assert value is not None
    assert value.title == "Engines"
    assert value.people[0].name == "Ada"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I would rather not.", "not a JSON object"),
        ("", "not a JSON object"),
        ("[1, 2]", "not a JSON object"),
        ('{"people": []}', "title"),
        ('{"title": "x", "people": [{"name": 4}]}', "people.0.name"),
        ('{"title": "x", "score": 7}', "score"),
        ('{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1), "deeper"),
        ("x" * (LONGEST + 1), "longer"),
    ],
)
def test_an_answer_that_does_not_fit_says_where(text, problem):
    parsed = parse(text, Found)

    assert parsed.value is None
    assert problem in parsed.problems


@pytest.mark.parametrize("end", range(len('{"title": "'), len(ADA) - 3))
def test_an_answer_that_ends_in_the_middle_of_a_value_is_cut(end):
    found = parse(ADA[:end], Found)

    assert found.value is None
    assert found.is_cut


def test_of_many_problems_the_first_are_told():
    people = [{"name": 1}] * 100

    problems = parse(json.dumps({"title": "x", "people": people}), Found).problems

    assert "and 92 more" in problems
    assert len(problems) < 1000


def test_brackets_inside_strings_are_no_nesting():
    text = json.dumps({"title": "[{" * 200})

    assert parse(text, Found).value is not None


def test_what_postgres_cannot_hold_is_taken_out():
    value = parse('{"title": "a\\u0000b\\ud800c", "score": NaN}', Found)

    assert value.value is None or value.value.title == "abc"
    assert parse('{"title": "a\\u0000b\\ud800c"}', Found).value.title == "abc"


def test_numbers_beyond_measure_are_no_numbers():
    assert parse('{"title": "x", "score": 1e999}', Found).value is None


@given(st.text())
def test_any_text_gives_a_value_or_a_problem(text):
    parsed = parse(text, Found)

    assert (parsed.value is None) == bool(parsed.problems)


@given(JSON)
def test_any_json_gives_a_value_or_a_problem(value):
    parsed = parse(json.dumps(value), Found)

    assert (parsed.value is None) == bool(parsed.problems)


@settings(max_examples=200)
@given(st.text(alphabet='{}[]":,\\`<>/ atnu0\n', max_size=300))
def test_any_litter_of_json_gives_a_value_or_a_problem(text):
    parsed = parse("{" + text, Found)

    assert (parsed.value is None) == bool(parsed.problems)


@given(st.integers(0, len(ADA)), st.text(max_size=8))
def test_a_broken_answer_never_raises(place, litter):
    parse(ADA[:place] + litter + ADA[place:], Found)
    parse(ADA[:place], Found)


@pytest.mark.parametrize(
    "text",
    [
        '\\"' * 150_000,
        '{"a": ' + '"x' * 100_000,
        "{" * 290_000,
        "[[" + '"' * 200_000,
        "</think" * 40_000,
    ],
)
def test_hostile_answers_cost_no_hours(text):
    started = time.perf_counter()

    parse(text, Found)

    assert time.perf_counter() - started < PATIENCE


@given(st.text())
def test_storable_text_has_bytes_and_no_nul(text):
    assert b"\0" not in storable(text + "\0\ud800").encode()


def test_a_fence_inside_an_answer_is_the_answers_own():
    answer = '{"title": "```json\\nx\\n```"}'

    assert without_wrapping(answer) == answer


def test_a_strict_schema_closes_every_object_and_asks_for_everything():
    schema = strict_schema(Found)

    assert schema["additionalProperties"] is False
    assert schema["required"] == ["title", "people", "score"]
    assert schema["$defs"]["Person"]["required"] == ["name", "age"]
    assert is_strict(schema)


def test_words_that_strict_modes_refuse_are_left_out():
    text = schema_text(Found)

    assert not {"maxLength", "default", "minimum", "maximum"} & set(text.split('"'))


def test_a_property_may_be_called_like_a_keyword():
    class Named(BaseModel):
        title: str
        pattern: str
        format: int

    assert list(strict_schema(Named)["properties"]) == ["title", "pattern", "format"]


def test_free_keys_are_not_strict():
    assert not is_strict(strict_schema(Free))
