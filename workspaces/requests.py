"""The request as our views get it: somebody is signed in, and htmx may be asking."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails
from rest_framework.request import Request

from workspaces.models import User


class UserRequest(HttpRequest):
    """What ``login_required`` lets through."""

    user: User
    htmx: HtmxDetails


class ApiRequest(Request):
    """What DRF's ``IsAuthenticated`` lets through."""

    user: User
