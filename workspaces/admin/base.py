"""What the admin's pages share: they change nothing, and open one workspace at a time.

Row-level security shows no tenant's rows without a workspace. Staff choose one, which is recorded
in its audit trail; for an hour its rows are then shown, in the scope of that workspace.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse

from workspaces import access
from workspaces.admin.site import plural
from workspaces.audit import services as audit
from workspaces.models import AuditAction, User, Workspace

if TYPE_CHECKING:
    _ModelAdmin = ModelAdmin[Any]
else:
    _ModelAdmin = ModelAdmin

CHOSEN: Final = "admin_workspace"
SECONDS_OPEN: Final = 3600


class ReadOnlyAdmin(_ModelAdmin):
    """Pages of rows that staff may see and no one may change."""

    actions = None
    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest, *_of: object) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.admin_site.has_permission(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)


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
