"""One format for all errors that leave the system: a page for people, an object for programs.

``{"status", "code", "happened", "kept", "next_step", "sentence", "fields", "request_id"}``
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    JsonResponse,
)
from django.shortcuts import render
from django.template.loader import render_to_string
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.views import set_rollback
from structlog.contextvars import get_contextvars

from kb_project import errors
from kb_project.http.api_requests import CHALLENGE

logger = logging.getLogger(__name__)

PANEL: Final = "components/error_panel.html"
PAGES: Final = frozenset({403, 404, 429, 503})
"""Statuses with a page of their own."""

STATUS: dict[type[errors.KBError], int] = {
    errors.UploadError: 400,
    errors.InputError: 400,
    errors.ParseError: 422,
    errors.StageError: 500,
    errors.SignInError: 401,
    errors.NotFoundError: 404,
    errors.ForbiddenError: 403,
    errors.PreconditionError: 412,
    errors.ConflictError: 409,
    errors.LimitError: 429,
    errors.UnavailableError: 503,
    errors.ModelError: 503,
}


def status_of(error: errors.KBError) -> int:
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def problem(error: errors.KBError) -> dict[str, Any]:
    """Return the error object for programs."""
    return {
        "status": status_of(error),
        **error.problem(),
        "sentence": error.sentence,
        "fields": error.fields,
        "request_id": str(get_contextvars().get("request_id", "")),
    }


class ProblemMiddleware:
    """Turns a ``KBError`` raised in a page's view into a page that explains it.

    It also explains a GET to a form's address: signing in leads there if the user was signed out
    when they sent the form.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and request.method == "GET":
            response.content = render_to_string("405.html", request=request)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, errors.KBError):
            return None
        status = status_of(error)
        if status >= 500:
            logger.error("request failed code=%s", error.code)
        page = f"{status}.html" if status in PAGES else "400.html"
        template = PANEL if getattr(request, "htmx", False) else page
        response = render(request, template, {"problem": problem(error)}, status=status)
        for name, value in headers_of(error).items():
            response[name] = value
        return response


def is_for_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def refusal(request: HttpRequest, error: errors.KBError) -> HttpResponse:
    """Return the response of a middleware that refuses a request, made without the database."""
    body, status = problem(error), status_of(error)
    if is_for_api(request):
        return JsonResponse(body, status=status, headers=headers_of(error))
    template = PANEL if getattr(request, "htmx", False) else f"{status}.html"
    page = render_to_string(template, {"problem": body})
    return HttpResponse(page, status=status, headers=headers_of(error))


def headers_of(error: errors.KBError) -> dict[str, str]:
    if isinstance(error, errors.LimitError):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, errors.SignInError):
        return {"WWW-Authenticate": CHALLENGE}
    return {}


def api_exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: every failure has this one format and is rolled back."""
    # A view that waits for others works outside the request's transaction: see its class.
    if not getattr(context.get("view"), "has_own_transactions", False):
        set_rollback()
    known = _as_kb_error(error)
    body, headers = problem(known), headers_of(known)
    if isinstance(error, drf.APIException):
        body["status"] = error.status_code
        if wait := getattr(error, "wait", None):
            headers["Retry-After"] = str(int(wait))
    if body["status"] >= 500:
        logger.error("request failed code=%s", body["code"], exc_info=error)
    return Response(body, status=body["status"], headers=headers)


def _as_kb_error(error: Exception) -> errors.KBError:
    if isinstance(error, errors.KBError):
        return error
    if isinstance(error, drf.ValidationError):
        return errors.InputError(
            "Some fields are not valid.",
            kept="Nothing was changed.",
            next_step="See 'fields' for each of them.",
            fields=error.detail if isinstance(error.detail, dict) else {"": error.detail},
        )
    if isinstance(error, drf.NotAuthenticated):
        return errors.SignInError(
            "The API requires a sign-in.",
            next_step="Send an API token in the header 'Authorization: Bearer …', or sign in.",
        )
    if isinstance(error, drf.APIException):
        return errors.KBError(str(error.detail), code=str(error.default_code))
    if isinstance(error, Http404):
        return errors.NotFoundError("There is nothing at this address.")
    if isinstance(error, PermissionDenied):
        return errors.ForbiddenError("You don't have permission to do this here.")
    if isinstance(error, SuspiciousOperation):
        return errors.InputError("The request cannot be accepted.", code="refused")
    return errors.KBError(
        "An unexpected error occurred.",
        code="unexpected",
        kept="Nothing was changed.",
        next_step="Try again; if it happens again, give the request id to your administrator.",
    )
