"""People, workspaces, memberships and what happened, for operators."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import display
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from workspaces.admin.base import ReadOnlyAdmin, TenantAdmin, open_workspace
from workspaces.admin.site import site
from workspaces.models import AccountEvent, AuditEvent, Membership, User, Workspace
from workspaces.people import queries as people_queries


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
