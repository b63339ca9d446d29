from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from ingestion.extractors.model.schema import (
    Answer,
    AnswerWithClaims,
    SaidClaim,
    SaidEntity,
    SaidRelationship,
    as_strength,
    plain_text,
)
from kb_project.llm.structured import strict_schema

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


def test_a_whole_answer_is_read_as_it_was_said():
    answer = AnswerWithClaims.model_validate_json(
        json.dumps(
            {
                "entities": [
                    {"name": "Ada Lind", "type": "person", "description": "A keeper.", "quote": "q"}
                ],
                "relationships": [
                    {
                        "source": "Ada Lind",
                        "target": "Skarrow",
                        "description": "Keeps it.",
                        "keywords": ["keeping"],
                        "strength": 9,
                        "quote": "q",
                    }
                ],
                "claims": [{"subject": "Ada Lind", "status": "TRUE", "period_start": "1974-05"}],
            }
        )
    )

    [entity], [link], [claim] = answer.entities, answer.relationships, answer.claims
    assert (entity.name, entity.type, entity.description) == ("Ada Lind", "person", "A keeper.")
    assert (link.source, link.target, link.strength) == ("Ada Lind", "Skarrow", 9)
    assert (claim.status, claim.period_start, claim.period_end) == ("true", "1974-05", "")


def test_an_answer_without_entities_is_no_answer():
    with pytest.raises(ValidationError):
        Answer.model_validate({"result": "I cannot help with that."})


@pytest.mark.parametrize("nothing", [None, []])
def test_an_answer_may_find_nothing(nothing):
    assert Answer.model_validate({"entities": nothing}).entities == []


def test_a_text_where_a_list_belongs_is_no_answer():
    with pytest.raises(ValidationError):
        Answer.model_validate({"entities": "Ada Lind"})


def test_one_object_stands_for_a_list_of_one():
    assert [e.name for e in Answer.model_validate({"entities": {"name": "Ada"}}).entities] == [
        "Ada"
    ]


def test_what_is_no_object_becomes_one_that_says_nothing():
    answer = Answer.model_validate({"entities": ["Ada", None, {"name": "Bo"}]})

    assert [entity.name for entity in answer.entities] == ["", "", "Bo"]


def test_names_that_other_systems_give_the_parts_are_understood():
    entity = SaidEntity.model_validate({"entity_name": "Ada", "entity_type": "person"})
    link = SaidRelationship.model_validate({"src": "Ada", "tgt": "Bo"})

    assert (entity.name, entity.type) == ("Ada", "person")
    assert (link.source, link.target) == ("Ada", "Bo")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (8, 8),
        ("8", 8),
        ("7.5", 7.5),
        ("9/10", 9),
        (0, 1),
        (-3, 1),
        (99, 10),
        ("1e999", 1),
        ("very", 1),
        (None, 1),
        (float("nan"), 1),
        (float("inf"), 1),
        ([6], 6),
    ],
)
def test_strength_is_a_number_from_one_to_ten(said, meant):
    assert as_strength(said) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("TRUE", "true"),
        (True, "true"),
        ("Denied", "false"),
        ("suspected", "suspected"),
        ("perhaps", "suspected"),
        (None, "suspected"),
        ("", "suspected"),
    ],
)
def test_a_status_is_one_of_three(said, meant):
    assert SaidClaim.model_validate({"status": said}).status == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("1869-10-03", "1869-10-03"),
        ("1869-10-03T10:00:00Z", "1869-10-03"),
        (1869, "1869"),
        ("1869-13-01", "1869"),
        ("NONE", ""),
        (None, ""),
        ("18691003", ""),
        ("in May", ""),
    ],
)
def test_a_period_is_in_iso_dates(said, meant):
    assert SaidClaim.model_validate({"start_date": said}).period_start == meant


def test_keywords_may_come_as_one_text():
    link = SaidRelationship.model_validate({"keywords": "oil; light，灯"})

    assert link.keywords == ["oil", "light", "灯"]


def test_characters_that_no_database_takes_are_gone():
    assert plain_text("Ada\x00 Lind\ud83d\u202e !") == "Ada Lind !"


@given(ANYTHING)
def test_whatever_stands_for_an_entity_is_read_or_refused(value):
    try:
        answer = Answer.model_validate({"entities": [value], "relationships": [value]})
    except ValidationError:
        return

    for entity in answer.entities:
        entity.model_dump_json().encode()


@given(ANYTHING)
def test_whatever_stands_for_a_strength_is_a_strength(value):
    assert 1 <= SaidRelationship.model_validate({"strength": value}).strength <= 10


def test_a_server_is_told_the_plain_names_and_kinds():
    schema = strict_schema(AnswerWithClaims)
    entity = schema["$defs"]["SaidEntity"]["properties"]
    link = schema["$defs"]["SaidRelationship"]["properties"]

    assert list(schema["properties"]) == ["entities", "relationships", "claims"]
    assert {name: part["type"] for name, part in entity.items()} == dict.fromkeys(
        ["name", "type", "description", "quote"], "string"
    )
    assert (link["strength"]["type"], link["keywords"]["type"]) == ("number", "array")
