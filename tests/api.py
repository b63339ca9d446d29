"""Asking the API in tests, and the one shape of its errors."""

from __future__ import annotations

import base64
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.test import Client
from rest_framework.test import APIClient

from kb_project.http.sessions import SessionStore
from workspaces.models import User, Workspace

PROBLEM_KEYS = {
    "status",
    "code",
    "happened",
    "kept",
    "next_step",
    "sentence",
    "fields",
    "request_id",
}


def client(user: User | None = None) -> Any:
    """A client of the API, signed in with a session unless nobody is given."""
    made = APIClient()
    if user is not None:
        sign_in(made, user)
    return made


def sign_in(client: Client, user: User) -> None:
    """Sign a client in that has no session yet.

    ``force_login`` makes two sessions and deletes one: most of the statements of a short test.
    """
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    client.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)


def address(workspace: Workspace, path: str) -> str:
    return f"/api/v1/workspaces/{workspace.pk}/{path}"


def password_header(email: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{email}:{password}".encode()).decode()


def client_with(token: str) -> Any:
    """A client of the API that sends this token and nothing else."""
    made = APIClient()
    made.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return made


def assert_problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """The response is an error in the one shape; returns it."""
    body: dict[str, Any] = response.json()
    assert response.status_code == status, body
    assert set(body) == PROBLEM_KEYS
    assert (body["status"], body["code"]) == (status, code)
    assert body["sentence"]
    return body


def assert_nothing_there(response: Any) -> None:
    """What a stranger gets, whether or not the workspace exists."""
    body = assert_problem(response, 404, "not_found")
    assert body["happened"] == "There is no such workspace, or you are not a member of it."
