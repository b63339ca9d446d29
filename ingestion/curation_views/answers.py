"""How curators' views end: the next page with a toast, or the same page with what was typed."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url

from ingestion import toasts
from ingestion.curation_shown import Refusal
from ingestion.models import HistoryEvent
from workspaces.models import Workspace

AGAIN = "X-Form-Again"
"""Tells the script that this answer to a refused form is a whole page to show."""


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
