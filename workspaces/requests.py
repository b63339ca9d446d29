"""The types of requests in our views: the user is signed in, and htmx may have sent it."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails
from rest_framework.request import Request

from workspaces.models import User


class UserRequest(HttpRequest):
    """A request that passed ``login_required``."""

    user: User
    htmx: HtmxDetails


class ApiRequest(Request):
    """A request that passed DRF's ``IsAuthenticated``."""

    user: User
