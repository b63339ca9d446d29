"""The administration: for staff with a second factor, for looking only, one workspace at a time.

The site has a registry of its own: what packages register with Django's, such as the functions that
django-q runs or the secrets of second factors, does not appear. Row-level security shows no
tenant's rows without a workspace. Staff choose one, which is recorded in its audit trail; for an
hour its rows are then shown, in the scope of that workspace.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.account.decorators import secure_admin_login
from allauth.account.internal.flows.logout import logout
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin, display
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from workspaces import access, audit
from workspaces.models import AccountEvent, AuditAction, AuditEvent, Membership, User, Workspace
from workspaces.people import queries as people_queries

if TYPE_CHECKING:
    _ModelAdmin = ModelAdmin[Any]
else:
    _ModelAdmin = ModelAdmin


APPS: Final = {"workspaces": "People and workspaces", "ingestion": "Documents and knowledge"}
CHOSEN: Final = "admin_workspace"
SECONDS_OPEN: Final = 3600
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


class ReadOnlyAdmin(_ModelAdmin):
    """Pages of rows that staff may see and no one may change."""

    actions = None
    list_per_page = 50
    show_full_result_count = False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.admin_site.has_permission(request)

    def _never(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_module_permission = has_view_permission
    has_add_permission = has_change_permission = has_delete_permission = _never


class TenantAdmin(ReadOnlyAdmin):
    """Pages of the rows of the workspace that staff chose."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        chosen = chosen_workspace(request)
        rows = cast("Any", self.model).objects
        return cast("QuerySet[Model]", rows.in_workspace(chosen or uuid.UUID(int=0)))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return self._inside(
            request,
            lambda title: super(TenantAdmin, self).changelist_view(
                request, {**(extra_context or {}), "title": title}
            ),
        )

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        return self._inside(
            request,
            lambda title: super(TenantAdmin, self).changeform_view(
                request, object_id, form_url, {**(extra_context or {}), "subtitle": title}
            ),
        )

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        return redirect("admin:index")

    def _inside(self, request: HttpRequest, page: Callable[[str], HttpResponse]) -> HttpResponse:
        """Make a page whole in the scope of the chosen workspace, or send to the choice of one."""
        chosen = chosen_workspace(request)
        workspace = Workspace.objects.filter(pk=chosen).first() if chosen else None
        if workspace is None:
            messages.info(request, "Open a workspace first. Its audit trail will say so.")
            return redirect("admin:workspaces_workspace_changelist")
        with access.in_workspace(workspace.pk):
            response = page(f"{plural(self.model)} of {workspace.name}")
            if isinstance(response, SimpleTemplateResponse):
                response.render()
            return response


def open_workspace(request: HttpRequest, workspace: Workspace) -> None:
    """Show a workspace's rows to this session for an hour, and record it in the workspace."""
    audit.record(
        AuditAction.OPENED_BY_OPERATOR, workspace=workspace, user=cast("User", request.user)
    )
    request.session[CHOSEN] = [str(workspace.pk), time.time() + SECONDS_OPEN]


def chosen_workspace(request: HttpRequest) -> uuid.UUID | None:
    workspace_id, until = request.session.get(CHOSEN) or ("", 0)
    return uuid.UUID(workspace_id) if time.time() < until else None


class UserAdmin(ReadOnlyAdmin):
    list_display = ("email", "name", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email", "name")
    ordering = ("email",)
    fields = (
        *("email", "name", "is_active", "is_staff", "date_joined", "last_login"),
        "workspaces",
    )
    readonly_fields = ("workspaces",)

    @display(description="workspaces")
    def workspaces(self, user: User) -> SafeString:
        found = people_queries.workspaces_of(user=user)
        rows = [(one.pk, one.name, one.membership.role if one.membership else "") for one in found]
        return format_html_join(
            "", '<div><a href="/admin/workspaces/workspace/{}/change/">{}</a> ({})</div>', rows
        )


class WorkspaceAdmin(ReadOnlyAdmin):
    list_display: tuple[str, ...] = ("name", "slug", "created_by", "created_at", "is_demo")
    search_fields = ("name", "slug", "created_by__email")
    list_select_related = ("created_by",)
    fields = ("id", "name", "slug", "created_by", "created_at", "is_demo")
    change_form_template = "admin/workspaces/workspace/change_form.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.open_view))
        opening = path("<uuid:workspace_id>/open/", view, name="workspaces_workspace_open")
        return [opening, *super().get_urls()]

    def open_view(self, request: HttpRequest, workspace_id: Any) -> HttpResponse:
        workspace = get_object_or_404(Workspace, pk=workspace_id)
        open_workspace(request, workspace)
        return redirect("admin:workspaces_membership_changelist")


class MembershipAdmin(TenantAdmin):
    list_display = ("user", "role", "created_at")
    list_filter = ("role",)
    search_fields = ("user__email", "user__name")
    list_select_related = ("user",)
    fields = ("user", "role", "capabilities", "created_at")


class AuditEventAdmin(TenantAdmin):
    list_display = ("created_at", "actor", "action", "object_kind", "object_name", "via")
    list_filter = ("action", "via")
    search_fields = ("actor", "object_name", "request_id")
    fields = (
        *("created_at", "actor", "token", "via", "action", "object_kind", "object_id"),
        *("object_name", "before", "after", "request_id"),
    )


class AccountEventAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "email", "kind_in_words", "detail", "address", "user_agent")
    list_filter = ("kind",)
    search_fields = ("email", "address")
    fields = ("created_at", "email", "kind_in_words", "detail", "address", "user_agent")
    readonly_fields = ("kind_in_words",)

    @display(description="what")
    def kind_in_words(self, event: AccountEvent) -> SafeString:
        return format_html("{}", event.get_kind_display())


site.register(User, UserAdmin)
site.register(Membership, MembershipAdmin)
site.register(AuditEvent, AuditEventAdmin)
site.register(AccountEvent, AccountEventAdmin)
