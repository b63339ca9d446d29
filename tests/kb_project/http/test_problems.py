from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from rest_framework import exceptions as drf
from rest_framework.request import Request
from rest_framework.test import APIClient
from rest_framework.views import APIView

from kb_project import errors, urls
from kb_project.http import problems
from kb_project.http.problems import ProblemMiddleware, problem, status_of
from tests.api import PROBLEM_KEYS
from workspaces.models import User

MIDDLEWARE = ProblemMiddleware(lambda _request: HttpResponse())
ERRORS = [
    (errors.InputError("x"), 400),
    (errors.UploadError("x"), 400),
    (errors.ParseError("x"), 422),
    (errors.StageError("x"), 500),
    (errors.NotFoundError("x"), 404),
    (errors.ForbiddenError("x"), 403),
    (errors.ConflictError("x"), 409),
    (errors.UnavailableError("x"), 503),
    (errors.BudgetError("x"), 503),
    (errors.KBError("x"), 500),
]


# --- the object -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("error", "status"), ERRORS)
def test_each_kind_of_error_has_its_status(error: errors.KBError, status: int):
    assert status_of(error) == status


def test_a_new_kind_of_error_has_the_status_of_the_one_it_is_derived_from():
    class TornError(errors.ParseError):
        pass

    assert status_of(TornError("x")) == 422


def test_an_error_is_one_object_with_every_part():
    error = errors.ConflictError(
        "It is taken.",
        code="taken",
        kept="Kept.",
        next_step="Wait.",
        fields={"slug": ["taken"]},
    )

    assert problem(error) == {
        "status": 409,
        "code": "taken",
        "happened": "It is taken.",
        "kept": "Kept.",
        "next_step": "Wait.",
        "sentence": "It is taken. Kept. Wait.",
        "fields": {"slug": ["taken"]},
        "request_id": "",
    }


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [({}, "It broke."), ({"next_step": "Retry."}, "It broke. Retry."), ({"kept": ""}, "It broke.")],
)
def test_empty_parts_leave_no_gap(parts: dict[str, Any], sentence: str):
    assert errors.KBError("It broke.", **parts).sentence == sentence


@pytest.mark.parametrize(("error", "_status"), ERRORS)
def test_every_kind_of_error_has_a_code(error: errors.KBError, _status: int):
    assert error.code.isidentifier()
    assert str(error) == "x"


def test_only_an_unavailable_part_is_worth_trying_again_as_it_is():
    assert [type(error).__name__ for error, _ in ERRORS if error.retryable] == ["UnavailableError"]


# --- pages ----------------------------------------------------------------------------------------
def page(error: Exception, *, htmx: bool = False) -> HttpResponse | None:
    request = RequestFactory().get("/")
    request.htmx = htmx  # type: ignore[attr-defined]  # what its middleware sets
    request.user = AnonymousUser()
    return MIDDLEWARE.process_exception(request, error)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "error",
    [errors.NotFoundError("No such page."), errors.ForbiddenError("No."), errors.InputError("No.")],
)
def test_an_error_becomes_a_page_that_explains_it(error: errors.KBError):
    response = page(error)

    assert response is not None
    assert response.status_code == status_of(error)
    assert error.happened in response.content.decode()


@pytest.mark.django_db
def test_a_part_of_a_page_gets_a_panel():
    response = page(errors.ConflictError("It is taken."), htmx=True)

    assert response is not None
    assert b"<html" not in response.content
    assert b"It is taken." in response.content


@pytest.mark.django_db
def test_document_text_in_an_error_is_escaped():
    response = page(errors.InputError("<script>alert(1)</script>"))

    assert response is not None
    assert b"<script>alert" not in response.content


def test_other_errors_are_left_to_the_framework():
    assert page(ValueError("ours")) is None


@pytest.mark.django_db
def test_a_failure_of_ours_is_logged_a_persons_mistake_is_not(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR):
        page(errors.InputError("theirs"))
        page(errors.UnavailableError("ours"))

    assert [record.getMessage() for record in caplog.records] == ["request failed code=unavailable"]


def test_a_request_without_an_error_passes_through():
    assert MIDDLEWARE(HttpRequest()).status_code == 200


@pytest.mark.django_db
def test_who_lands_on_the_address_of_a_form_is_told_where_to_go():
    client = Client()
    client.force_login(User.objects.create_user("ada@example.org", "x"))

    landed = client.get("/w/any/documents/upload/")
    pressed = client.put("/w/any/documents/upload/")

    assert landed.status_code == pressed.status_code == 405
    assert "Nothing was changed" in landed.content.decode()
    assert landed["Allow"] == "POST"
    assert pressed.content == b""


# --- the API --------------------------------------------------------------------------------------
class Failing(APIView):
    """Raises what the test puts here."""

    authentication_classes = ()
    permission_classes = ()
    error: Callable[[], Exception]

    def get(self, request: Request) -> None:
        raise type(self).error()

    def post(self, request: Request) -> None:
        User.objects.create(email="half@example.com")
        raise type(self).error()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, settings) -> APIClient:
    settings.ROOT_URLCONF = __name__
    return APIClient(raise_request_exception=False)


urlpatterns = [path("failing/", Failing.as_view()), *urls.urlpatterns]


def answer(client: APIClient, error: Exception, method: str = "get") -> tuple[int, dict[str, Any]]:
    Failing.error = lambda: error
    response = getattr(client, method)("/failing/")
    body: dict[str, Any] = response.json()
    assert set(body) == PROBLEM_KEYS
    assert body["status"] == response.status_code
    return response.status_code, body


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.ConflictError("x", code="taken"), 409, "taken"),
        (drf.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (drf.ParseError(), 400, "parse_error"),
        (drf.UnsupportedMediaType("text/x"), 415, "unsupported_media_type"),
        (Http404(), 404, "not_found"),
        (PermissionDenied(), 403, "forbidden"),
        (SuspiciousOperation("too many files"), 400, "refused"),
        (ValueError("secret words"), 500, "unexpected"),
    ],
)
def test_every_failure_of_the_api_has_the_one_shape(
    failing: APIClient, error: Exception, status: int, code: str
):
    found_status, body = answer(failing, error)

    assert (found_status, body["code"]) == (status, code)
    assert "secret" not in str(body)


@pytest.mark.django_db
def test_each_field_that_is_wrong_is_named(failing: APIClient):
    _, body = answer(failing, drf.ValidationError({"name": ["Too long."]}))

    assert body["fields"] == {"name": ["Too long."]}
    assert body["next_step"] == "See 'fields' for each of them."


@pytest.mark.django_db
def test_a_fault_of_no_field_in_particular_is_told_too(failing: APIClient):
    _, body = answer(failing, drf.ValidationError(["Nonsense."]))

    assert body["fields"] == {"": ["Nonsense."]}


@pytest.mark.django_db
def test_who_asks_too_often_is_told_how_long_to_wait(failing: APIClient):
    Failing.error = lambda: drf.Throttled(wait=12.4)

    response = failing.get("/failing/")

    assert (response.status_code, response.headers["Retry-After"]) == (429, "13")


@pytest.mark.django_db
def test_a_failure_leaves_nothing_half_written(failing: APIClient):
    with transaction.atomic():
        answer(failing, errors.ConflictError("x"), "post")

    assert not User.objects.filter(email="half@example.com").exists()


@pytest.mark.django_db
def test_a_failure_of_ours_is_logged_with_its_traceback(
    failing: APIClient, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.ERROR, problems.__name__):
        answer(failing, ValueError("x"))

    [record] = [record for record in caplog.records if record.name == problems.__name__]
    assert record.exc_info is not None


@pytest.mark.django_db
@pytest.mark.parametrize("where", ["/api/", "/api/v1/nowhere/", "/api/v1/workspaces/x/nothing/"])
def test_an_address_of_the_api_that_leads_nowhere_says_so(where: str):
    client = APIClient()
    client.force_authenticate(User(email="x@example.com"))

    response = client.get(where)

    assert response.status_code == 404
    if where.startswith("/api/v1/"):
        assert set(response.json()) == PROBLEM_KEYS
