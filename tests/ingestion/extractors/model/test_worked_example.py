"""The example of an extraction that a prompt shows until examples are learned."""

from __future__ import annotations

import json
import uuid

import pytest

from ingestion.extractors.model import ChunkText, extract_prompt, read, worked_example
from ingestion.extractors.model.schema import AnswerWithClaims
from kb_project.llm.ports import ModelOptions
from kb_project.llm.tokens import count_tokens
from kb_project.text.languages import HAN

CLAIMS = ModelOptions(wants_claims=True)


def passage(language: str) -> ChunkText:
    return ChunkText(uuid.uuid4(), uuid.uuid4(), "Ada Lind keeps the light.", language=language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_all_that_an_example_says_would_be_kept(language: str):
    text, _, told = worked_example(language, CLAIMS).partition("\n\nAnswer: ")
    answer = AnswerWithClaims.model_validate_json(told)

    found = read([answer], text)

    assert found.rejected == {}
    assert len(found.extraction.fragments) == len(answer.entities) == 3
    assert len(found.extraction.relations) == len(answer.relationships) == 2
    assert len(found.extraction.claims) == len(answer.claims) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_example_is_short(language: str):
    assert count_tokens(worked_example(language, CLAIMS)) <= 420
    assert count_tokens(worked_example(language, ModelOptions())) <= 340


def test_a_chinese_passage_gets_a_chinese_example():
    chinese, other = (extract_prompt(passage(one), ModelOptions()).system for one in ("zh", "de"))

    assert HAN.search(chinese)
    assert not HAN.search(other)


def test_claims_and_types_are_those_that_are_wanted():
    told = worked_example("en", ModelOptions(entity_types=("Person", "vessel")))
    answer = json.loads(told.partition("\n\nAnswer: ")[2])

    assert "claims" not in answer
    assert [one["type"] for one in answer["entities"]] == ["person", "other", "other"]


def test_learned_examples_replace_it():
    learned = extract_prompt(passage("en"), ModelOptions(examples=("A learned one.",))).system

    assert "A learned one." in learned
    assert learned.count("<example>") == 1
