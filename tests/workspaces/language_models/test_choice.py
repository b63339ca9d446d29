from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from workspaces.language_models.choice import (
    ModelChoice,
    checked,
    checked_endpoint,
    checked_entity_types,
    checked_key,
    checked_model,
    checked_money,
    origin,
    parameters_in,
    parameters_text,
)


@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        ("", ""),
        ("https://models.example.org/v1/", "https://models.example.org/v1"),
        ("http://localhost:8080/v1", "http://localhost:8080/v1"),
        ("http://192.168.1.7:11434/v1", "http://192.168.1.7:11434/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://x.example/v1/chat/completions", "https://x.example/v1"),
    ],
)
def test_an_endpoint_is_the_base_address_of_a_server(given_: str, kept: str):
    assert checked_endpoint(given_) == kept


@pytest.mark.parametrize(
    "address",
    [
        "models.example.org/v1",
        "ftp://models.example.org",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "https://user:password@models.example.org/v1",
        "https://models.example.org/v1?key=abc",
        "https://models.example.org/v1#x",
        "https://models.example.org:99999/v1",
        "https://[::1/v1",
        "https://models.example.org/v1\r\nX: y",
        "https://models.example.org\\@other.example.org/v1",
        "https://" + "x" * 10_000,
    ],
)
def test_what_is_no_endpoint_is_refused(address: str):
    with pytest.raises(InputError):
        checked_endpoint(address)


@given(st.text(max_size=60))
def test_any_text_is_an_endpoint_or_refused(text: str):
    try:
        kept = checked_endpoint(text)
    except InputError:
        return
    assert kept == "" or kept.startswith(("http://", "https://"))
    assert checked_endpoint(kept) == kept or "completions" in kept


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "x" * 501])
def test_what_is_no_key_is_refused_without_repeating_it(key: str):
    with pytest.raises(InputError) as refused:
        checked_key(key)

    assert key not in refused.value.sentence


@pytest.mark.parametrize("name", ["x" * 10_000, "a\nb", "a\0b"])
def test_what_is_no_model_is_refused(name: str):
    with pytest.raises(InputError):
        checked_model(name)


def test_entity_types_are_each_kept_once():
    assert checked_entity_types([" person ", "", "person", "light  vessel"]) == (
        "person",
        "light vessel",
    )


@pytest.mark.parametrize("types", [["x" * 41], [str(number) for number in range(41)], ["a\0"]])
def test_what_are_no_entity_types_is_refused(types: list[str]):
    with pytest.raises(InputError):
        checked_entity_types(types)


@pytest.mark.parametrize("amount", ["-1", "NaN", "inf", "ten", "", "1e99"])
def test_what_is_no_amount_is_refused(amount: str):
    with pytest.raises(InputError):
        checked_money(amount, Decimal(1000), "The budget")


@pytest.mark.parametrize(
    "changes",
    [
        {"role_models": {"poet": "x"}},
        {"limits": {"poet": {"timeout": 3}}},
        {"limits": {"extract": {"patience": 3}}},
        {"limits": {"extract": {"timeout": 0}}},
        {"limits": {"extract": {"max_output": 10**9}}},
        {"parameters": {"poet": {"top_p": 0.5}}},
        {"parameters": {"answer": {"messages": []}}},
        {"parameters": {"answer": {"max_tokens": 9}}},
        {"parameters": {"answer": {"a b": 1}}},
        {"parameters": {"answer": {"note": "x" * 1_000}}},
        {"parameters": {"answer": {"note": "a\0b"}}},
        {"parameters": {"answer": {"note": "lone \ud800"}}},
        {"parameters": {"answer": {"top_p": float("nan")}}},
        {"concurrency": 0},
        {"concurrency": 10**6},
        {"context_window": 10},
        {"gleanings": 6},
        {"gleanings": -1},
        {"endpoint": "https://models.example.org/v1", "model": ""},
    ],
)
def test_a_choice_that_breaks_a_rule_is_refused(changes: dict[str, object]):
    with pytest.raises(InputError):
        checked(ModelChoice(**changes))  # type: ignore[arg-type]  # wrong on purpose


def test_a_model_for_each_role_needs_no_default():
    roles = ["extract", "summarise", "situate", "keyword", "answer", "judge"]
    models = dict.fromkeys(roles, "m")

    choice = checked(ModelChoice(endpoint="http://localhost/v1", role_models=models))

    assert dict(choice.role_models) == models


def test_an_empty_model_of_a_role_means_the_default():
    choice = checked(ModelChoice(role_models={"extract": " ", "judge": " big "}, limits={}))

    assert choice.role_models == {"judge": "big"}


def test_the_key_is_not_in_what_a_choice_says_of_itself():
    assert "secret" not in repr(ModelChoice(key="secret"))


def test_a_host_is_told_by_scheme_name_and_port():
    assert origin("https://a.example/v1") == origin("https://A.example:443/v2")
    assert origin("https://a.example/v1") != origin("http://a.example/v1")
    assert origin("https://a.example/v1") != origin("https://a.example:8443/v1")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", {}),
        ("reasoning_effort=low", {"reasoning_effort": "low"}),
        (" top_p = 0.9 , logprobs=false,", {"top_p": 0.9, "logprobs": False}),
        (
            '{"chat_template_kwargs": {"enable_thinking": false}}',
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
    ],
)
def test_parameters_are_read_as_people_type_them(typed: str, meant: dict[str, object]):
    assert parameters_in(typed) == meant
    assert parameters_in(parameters_text(meant)) == meant


@pytest.mark.parametrize("typed", ["effort", "{", "[1]", "model=big", '{"n": 5}', "=low"])
def test_what_are_no_parameters_is_refused(typed: str):
    with pytest.raises(InputError):
        parameters_in(typed)


STORABLE = st.characters(exclude_characters="\0", exclude_categories=["Cs"])


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_]{0,8}x", fullmatch=True),
        st.none() | st.booleans() | st.integers() | st.text(STORABLE, max_size=20),
        max_size=4,
    )
)
def test_parameters_come_back_as_they_were_shown(parameters: dict[str, object]):
    assert parameters_in(parameters_text(parameters)) == parameters
