"""The site of the admin: for staff with a second factor, and for looking only.

It has a registry of its own: what packages register with Django's, such as the functions that
django-q runs or the secrets of second factors, does not appear.
"""

from __future__ import annotations

from typing import Any, Final, cast

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.account.decorators import secure_admin_login
from allauth.account.internal.flows.logout import logout
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode

from workspaces.models import User

APPS: Final = {"workspaces": "People and workspaces", "ingestion": "Documents and knowledge"}
PLURALS: Final = {"entity": "Entities", "ingestionjob": "Jobs"}


def plural(model: type[Model]) -> str:
    """Return what rows of a model are called."""
    options = cast("Any", model)._meta  # noqa: SLF001  Django documents it
    return PLURALS.get(options.model_name) or str(options.verbose_name_plural).capitalize()


class Site(AdminSite):
    site_header = "Concordance administration"
    site_title = "Concordance"
    index_title = "Read-only: changes are made on the workspaces' own pages"
    enable_nav_sidebar = False

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        found = super().get_app_list(request, app_label)
        for app in found:
            app["name"] = APPS.get(app["app_label"], app["name"])
            for model in app["models"]:
                model["name"] = plural(model["model"])
        return found

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether this is staff who gave a second factor in this session."""
        user = request.user
        return bool(user.is_active and user.is_staff and _gave_factor(request))

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Send people to the product's own sign-in, and staff to their second factor."""
        response: HttpResponse = secure_admin_login(_ask_for_factor)(request)
        return response

    def logout(  # type: ignore[override]  # Django's returns a page of its own
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        if request.method == "POST":
            logout(request)
        return redirect("account_login")

    def password_change(  # type: ignore[override]  # the same
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        return redirect("account_change_password")


def _gave_factor(request: HttpRequest) -> bool:
    records = get_authentication_records(request, cast("User", request.user))
    return any(record["method"] == "mfa" for record in records)


def _ask_for_factor(request: HttpRequest) -> HttpResponse:
    if _gave_factor(request):
        return redirect("admin:index")
    if not is_mfa_enabled(request.user):
        messages.warning(request, "The administration needs a second factor. Set one up first.")
        return redirect("mfa_index")
    methods = get_adapter().get_reauthentication_methods(request.user)
    url = next(method["url"] for method in methods if method["id"].startswith("mfa_"))
    return redirect(f"{url}?{urlencode({'next': request.GET.get('next', '/admin/')})}")


site = Site(name="admin")
