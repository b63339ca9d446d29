from __future__ import annotations

import uuid

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import RefusedError
from workspaces.secrets import hint, seal, unseal

HERE, ELSEWHERE = uuid.uuid4(), uuid.uuid4()


@given(st.text(st.characters(codec="ascii"), max_size=500))
def test_a_key_comes_back_as_it_was(key: str):
    assert unseal(seal(key, HERE), HERE) == key


def test_a_sealed_key_shows_nothing_of_the_key():
    sealed = seal("sk-0123456789abcdef", HERE)

    assert b"0123456789" not in sealed
    assert sealed != seal("sk-0123456789abcdef", HERE)


def test_no_key_is_sealed_to_nothing():
    assert seal("", HERE) == b""
    assert unseal(b"", HERE) == ""


def test_a_key_of_another_workspace_opens_nothing():
    with pytest.raises(RefusedError):
        unseal(seal("sk-0123456789abcdef", HERE), ELSEWHERE)


def test_a_changed_secret_asks_for_the_key_again(settings):
    sealed = seal("sk-0123456789abcdef", HERE)
    settings.SECRET_KEY = "another"

    with pytest.raises(RefusedError, match="cannot be read any more") as refused:
        unseal(sealed, HERE)

    assert refused.value.code == "key_unreadable"
    assert "enter the key again" in refused.value.next_step


def test_a_former_secret_still_opens(settings):
    sealed = seal("sk-0123456789abcdef", HERE)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"

    assert unseal(memoryview(sealed), HERE) == "sk-0123456789abcdef"


@pytest.mark.parametrize("damaged", [b"x", b"gAAAAA", b"\x00\xff" * 40])
def test_a_damaged_key_is_no_crash(damaged: bytes):
    with pytest.raises(RefusedError):
        unseal(damaged, HERE)


def test_a_short_key_has_no_hint():
    assert hint("secret") == ""
    assert hint("sk-0123456789wxyz") == "wxyz"
