"""Who signs in to the API: by token, by password where that is allowed, and who does not."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import hashers
from django.utils import timezone

from tests import rows
from tests.api import assert_problem, client, client_with, password_header
from workspaces import access
from workspaces.models import ApiToken, Membership
from workspaces.tokens import authentication, services
from workspaces.tokens.authentication import TEXT, new_token

pytestmark = pytest.mark.django_db

LIST = "/api/v1/workspaces/"


def stored(token: ApiToken) -> ApiToken:
    with access.in_workspace(token.workspace_id):
        return ApiToken.objects.in_workspace(token.workspace_id).get(pk=token.pk)


def change(token: ApiToken, **fields: Any) -> None:
    with access.in_workspace(token.workspace_id):
        ApiToken.objects.in_workspace(token.workspace_id).filter(pk=token.pk).update(**fields)


# --- tokens ---------------------------------------------------------------------------------------
def test_a_program_signs_in_with_a_token():
    cast = rows.make_cast()
    _, text = rows.make_token(cast.workspace, cast.bob)

    [seen] = client_with(text).get(LIST).json()["results"]

    assert (seen["name"], seen["role"]) == ("Harbour", "viewer")


@pytest.mark.parametrize("pasted", ["  {}  ", "\t{}", "{}\r\n", "\n {} \n"])
def test_white_space_around_a_pasted_token_does_not_matter(pasted: str):
    cast = rows.make_cast()
    _, text = rows.make_token(cast.workspace, cast.bob)

    assert client_with(pasted.format(text)).get(LIST).status_code == 200


def test_a_token_that_was_broken_over_two_lines_still_works():
    cast = rows.make_cast()
    _, text = rows.make_token(cast.workspace, cast.bob)

    assert client_with(f"{text[:40]}\n  {text[40:]}").get(LIST).status_code == 200


def test_the_scheme_is_written_in_any_case():
    cast = rows.make_cast()
    _, text = rows.make_token(cast.workspace, cast.bob)

    for scheme in ("bearer", "BEARER"):
        response = client().get(LIST, headers={"authorization": f"{scheme} {text}"})
        assert response.status_code == 200


def test_a_token_goes_before_a_session():
    cast = rows.make_cast()
    rows.make_workspace("Elsewhere", owner=cast.bob)
    _, text = rows.make_token(cast.workspace, cast.bob)

    both = client(cast.bob).get(LIST, headers={"authorization": f"Bearer {text}"})
    wrong = client(cast.bob).get(LIST, headers={"authorization": "Bearer x"})

    assert [row["name"] for row in both.json()["results"]] == ["Harbour"]
    assert_problem(wrong, 401, "token_unknown")


@pytest.mark.parametrize("text", ["", "x", "cck_", "cck_" + "a" * 200, "ghp_abc", "é", "cck_\0"])
def test_what_is_no_token_signs_nobody_in(text: str):
    response = client_with(text).get(LIST)

    assert_problem(response, 401, "token_unknown")
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="Concordance"'


def test_a_token_with_a_wrong_part_is_unknown_whatever_is_wrong():
    cast, other = rows.make_cast(), rows.make_workspace("Elsewhere")
    token, text = rows.make_token(cast.workspace, cast.bob)
    change(token, revoked_at=timezone.now())
    [(prefix, workspace, secret)] = TEXT.findall(text)
    [(_, elsewhere, _)] = TEXT.findall(new_token(other.pk).text)
    wrong = [
        f"cck_{prefix}_{workspace}_{'a' * 32}",
        f"cck_{'a' * 8}_{workspace}_{secret}",
        f"cck_{prefix}_{elsewhere}_{secret}",
        f"cck_{prefix}_{'a' * 26}_{secret}",
        # The last letter of a workspace has bits to spare: they are no second spelling of it.
        f"cck_{prefix}_{workspace[:-1]}{'b' if workspace[-1] == 'a' else 'z'}_{secret}",
        text.upper(),
    ]

    problems = [assert_problem(client_with(one).get(LIST), 401, "token_unknown") for one in wrong]

    # Nobody without the secret learns that it was revoked, or whose it was.
    assert not any("Script" in str(one) or "revoked" in str(one) for one in problems)


def test_an_expired_token_says_so_to_those_who_have_it():
    cast = rows.make_cast()
    token, text = rows.make_token(cast.workspace, cast.bob)
    change(token, expires_at=timezone.now() - timedelta(seconds=1))

    problem = assert_problem(client_with(text).get(LIST), 401, "token_expired")

    assert "Script (cck_" in problem["happened"]
    assert "API tokens" in problem["next_step"]


def test_a_revoked_token_ends_at_once_and_says_so():
    cast = rows.make_cast()
    token, text = rows.make_token(cast.workspace, cast.bob)
    workspace = access.workspace_for_reading(user=cast.bob, workspace_id=cast.workspace.pk)
    services.token_revoke(workspace=workspace, user=cast.bob, token_id=token.pk)

    assert_problem(client_with(text).get(LIST), 401, "token_revoked")


def test_a_token_without_an_end_does_not_expire():
    cast = rows.make_cast()
    token, text = rows.make_token(cast.workspace, cast.bob, days=None)

    assert token.expires_at is None
    assert client_with(text).get(LIST).status_code == 200


def test_the_tokens_of_a_removed_member_end_at_once():
    cast = rows.make_cast()
    _, text = rows.make_token(cast.workspace, cast.bob)
    with access.in_workspace(cast.workspace.pk):
        Membership.objects.in_workspace(cast.workspace).filter(user=cast.bob).delete()

    assert_problem(client_with(text).get(LIST), 401, "token_unknown")
    with access.in_workspace(cast.workspace.pk):
        assert not ApiToken.objects.in_workspace(cast.workspace).exists()


def test_a_closed_accounts_token_no_longer_signs_in():
    cast = rows.make_cast()
    _, text = rows.make_token(cast.workspace, cast.bob)
    cast.bob.is_active = False
    cast.bob.save()

    assert_problem(client_with(text).get(LIST), 401, "account_closed")


def test_a_token_costs_no_hashing_of_passwords(monkeypatch: pytest.MonkeyPatch):
    cast = rows.make_cast()
    _, text = rows.make_token(cast.workspace, cast.bob)
    monkeypatch.setattr(hashers.PBKDF2PasswordHasher, "encode", fail)
    monkeypatch.setattr(hashers.PBKDF2PasswordHasher, "verify", fail)

    assert client_with(text).get(LIST).status_code == 200


def fail(*_args: object, **_kwargs: object) -> None:
    raise AssertionError("a password was hashed")


def test_its_last_use_is_recorded_once_a_minute():
    cast = rows.make_cast()
    token, text = rows.make_token(cast.workspace, cast.bob)
    assert stored(token).last_used_at is None

    client_with(text).get(LIST)
    first = stored(token).last_used_at
    client_with(text).get(LIST)
    again = stored(token).last_used_at
    change(token, last_used_at=timezone.now() - timedelta(seconds=61))
    client_with(text).get(LIST)

    assert first is not None
    assert first == again
    assert stored(token).last_used_at not in (None, first)


def test_its_use_is_recorded_even_if_the_request_fails():
    cast = rows.make_cast()
    token, text = rows.make_token(cast.workspace, cast.bob)

    assert client_with(text).get(f"{LIST}nowhere/").status_code == 404

    assert stored(token).last_used_at is not None


def test_neither_the_text_nor_the_secret_is_stored():
    cast = rows.make_cast()
    token, text = rows.make_token(cast.workspace, cast.bob)

    secret = text.rpartition("_")[2]
    row = {field.attname: getattr(stored(token), field.attname) for field in token._meta.fields}
    assert secret not in str(row)
    assert text.startswith(token.masked[:-1])


# --- passwords ------------------------------------------------------------------------------------
@pytest.fixture
def passwords(settings):
    settings.API_PASSWORDS = True
    # The real hash takes most of a second by design.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    rows._hashed.cache_clear()
    yield
    rows._hashed.cache_clear()


def sign_in(email: str, password: str, **sent: str) -> Any:
    header = password_header(email, password)
    return client().get(LIST, headers={"authorization": header}, **sent)


def test_passwords_are_refused_by_default_and_the_way_to_a_token_is_named():
    rows.make_user("Alice")

    problem = assert_problem(sign_in("alice@example.com", rows.PASSWORD), 401, "passwords_off")

    assert "API tokens" in problem["next_step"]


@pytest.mark.usefixtures("passwords")
def test_a_person_signs_in_with_address_and_password_where_it_is_allowed():
    rows.make_user("Alice")

    assert sign_in("Alice@Example.com", rows.PASSWORD).status_code == 200


@pytest.mark.usefixtures("passwords")
@pytest.mark.parametrize("email", ["alice@example.com", "nobody@example.com"])
def test_a_wrong_password_and_an_unknown_account_are_refused_alike(email: str):
    rows.make_user("Alice")

    problem = assert_problem(sign_in(email, "wrong"), 401, "authentication_failed")

    assert problem["happened"] == "The address or the password is wrong."


@pytest.mark.usefixtures("passwords")
@pytest.mark.parametrize(
    "sent", ["", "x", "é", base64.b64encode(b"\xff:x").decode(), "OnVzZXI=", "YQA6eAA="]
)
def test_nonsense_instead_of_a_password_signs_nobody_in(sent: str):
    response = client().get(LIST, headers={"authorization": f"Basic {sent}"})

    assert_problem(response, 401, "authentication_failed")


@pytest.mark.usefixtures("passwords")
def test_an_account_that_was_closed_no_longer_signs_in():
    alice = rows.make_user("Alice")
    alice.is_active = False
    alice.save()

    assert_problem(sign_in(alice.email, rows.PASSWORD), 401, "authentication_failed")


@pytest.mark.usefixtures("passwords")
def test_passwords_cannot_be_tried_without_end_from_any_header():
    rows.make_user("Alice")

    tries = [
        sign_in("alice@example.com", "wrong", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}")
        for number in range(11)
    ]

    assert {response.status_code for response in tries[:10]} == {401}
    assert_problem(tries[10], 429, "too_many_requests")
    assert 0 < int(tries[10].headers["Retry-After"]) <= 1800
    # Not even the right one is judged.
    assert sign_in("alice@example.com", rows.PASSWORD).status_code == 429


@pytest.mark.usefixtures("passwords")
def test_one_address_cannot_try_one_password_on_every_account():
    tries = [sign_in(f"person{number}@example.com", "x").status_code for number in range(52)]

    assert tries == [401] * 50 + [429] * 2


@pytest.mark.usefixtures("passwords")
def test_somebody_elses_attempts_do_not_count():
    rows.make_user("Alice")
    for _ in range(9):
        sign_in("bob@example.com", "x")

    assert sign_in("alice@example.com", rows.PASSWORD).status_code == 200


@pytest.mark.usefixtures("passwords")
def test_right_passwords_are_never_too_many():
    rows.make_user("Alice")

    assert {sign_in("alice@example.com", rows.PASSWORD).status_code for _ in range(45)} == {200}


def test_the_columns_read_for_a_token_are_those_of_the_models():
    cast = rows.make_cast()
    token, text = rows.make_token(cast.workspace, cast.bob)

    user = authentication.user_of(text)

    assert user == cast.bob
    assert (user.name, user.email, user.is_active) == ("Bob", "bob@example.com", True)
    assert not user.token.get_deferred_fields()
    for field in ("workspace_id", "membership_id", "name", "capabilities", "expires_at"):
        assert getattr(user.token, field) == getattr(stored(token), field)
    # A program's request reads no password.
    assert "password" in user.get_deferred_fields()
