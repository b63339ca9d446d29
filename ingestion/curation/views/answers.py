"""Responses of curators' views: the next page with a toast, or the same form with the input."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url

from ingestion.curation.presenters import Refusal
from ingestion.history import toasts
from ingestion.models import HistoryEvent
from workspaces.models import Workspace

AGAIN = "X-Form-Again"
"""Tells the script that this response to a refused form is a full page."""


def done(
    request: HttpRequest, workspace: Workspace, event: HistoryEvent, to: str, *args: object
) -> HttpResponse:
    toasts.leave(request, workspace, event)
    return HttpResponseRedirect(resolve_url(to, workspace.slug, *args))


def again(
    request: HttpRequest, template: str, context: dict[str, Any], refusal: Refusal
) -> HttpResponse:
    response = render(request, template, context | {"refusal": refusal}, status=refusal.status)
    response[AGAIN] = "yes"
    return response
