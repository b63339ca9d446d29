"""Documents, jobs and entities for operators, with links to the workspaces' own pages."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import SimpleListFilter, display
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ingestion.models import Document, Entity, IngestionJob, RunState, StageRun
from workspaces import access, admin
from workspaces.admin import TenantAdmin, site
from workspaces.models import TenantModel, Workspace


def stuck_runs(workspace_id: Any) -> QuerySet[StageRun]:
    """Return the stages whose worker has died, and that no other has taken over."""
    runs = StageRun.objects.in_workspace(workspace_id)
    return runs.filter(state=RunState.RUNNING, leased_until__lt=timezone.now())


class WorkspaceAdmin(admin.WorkspaceAdmin):
    list_display = (*admin.WorkspaceAdmin.list_display, "jobs")

    @display(description="jobs")
    def jobs(self, workspace: Workspace) -> str:
        """Count the unfinished jobs of a workspace, in its own scope: few are on a page."""
        states = (RunState.PENDING, RunState.RUNNING, RunState.PAUSED, RunState.FAILED)
        with access.in_workspace(workspace.pk):
            counts = IngestionJob.objects.in_workspace(workspace).aggregate(
                **{state.value: Count("pk", Q(state=state)) for state in states}
            )
            counts["stuck"] = stuck_runs(workspace.pk).count()
        return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "–"


class StuckFilter(SimpleListFilter):
    title = "stuck"
    parameter_name = "stuck"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Its worker has died")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() != "yes":
            return queryset
        return queryset.filter(
            stage_runs__state=RunState.RUNNING, stage_runs__leased_until__lt=timezone.now()
        ).distinct()


class DocumentAdmin(TenantAdmin):
    list_display = ("title", "state", "size", "added_by", "created_at", "trashed_at")
    list_filter = ("state",)
    search_fields = ("title", "name", "sha256")
    list_select_related = ("added_by",)
    fields = (
        *("title", "name", "media_type", "size", "sha256", "state", "added_by", "created_at"),
        *("disabled_at", "trashed_at", "pages"),
    )
    readonly_fields = ("pages",)

    @display(description="on the workspace's pages")
    def pages(self, document: Document) -> SafeString:
        return _links(document, Document="document_detail", History="document_history")


class JobAdmin(TenantAdmin):
    list_display = ("created_at", "kind", "document", "state", "cancel_requested", "finished_at")
    list_filter = ("state", "kind", StuckFilter)
    search_fields = ("document__title", "=id")
    list_select_related = ("document",)
    fields = (
        *("id", "kind", "document", "state", "problem", "cancel_requested", "requested_by"),
        *("created_at", "finished_at", "stages"),
    )
    readonly_fields = ("stages",)

    @display(description="stages")
    def stages(self, job: IngestionJob) -> SafeString:
        runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job)
        rows = [
            (run.stage, run.get_state_display(), run.units_done, run.units_total, _lease(run))
            for run in runs
        ]
        return format_html_join("", "<div>{}: {}, {} of {}{}</div>", rows)


class EntityAdmin(TenantAdmin):
    list_display = ("name", "type", "mention_count", "degree", "is_made", "is_protected")
    list_filter = ("is_made", "is_protected", "is_confirmed")
    search_fields = ("name", "key", "=id")
    ordering = ("-mention_count",)
    fields = (
        *("id", "name", "key", "sense", "type", "mention_count", "degree"),
        *("is_made", "is_protected", "is_confirmed", "created_at", "pages"),
    )
    readonly_fields = ("pages",)

    @display(description="on the workspace's pages")
    def pages(self, entity: Entity) -> SafeString:
        return _links(
            entity, Entity="entity_detail", Merge="entities_merge", History="entity_history"
        )


def _links(row: TenantModel, **names: str) -> SafeString:
    """Link a row to its pages. They open for members only: the admin gives no rights there."""
    rows = [
        (reverse(f"ingestion:{name}", args=[row.workspace_id, row.pk]), label)
        for label, name in names.items()
    ]
    return format_html(
        "{} (for members of the workspace)", format_html_join(" · ", '<a href="{}">{}</a>', rows)
    )


def _lease(run: StageRun) -> str:
    if not run.leased_until:
        return ""
    is_over = run.state == RunState.RUNNING and run.leased_until < timezone.now()
    until = timezone.localtime(run.leased_until).strftime("%d %b %H:%M")
    return f", {run.leased_by} until {until}" + (": STUCK" if is_over else "")


site.register(Workspace, WorkspaceAdmin)
site.register(Document, DocumentAdmin)
site.register(IngestionJob, JobAdmin)
site.register(Entity, EntityAdmin)
