"""Files of a graph that people upload, from the preview to what was made of them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from ingestion.models.history import HistoryEvent
from workspaces.models import TenantForeignKey, TenantModel


class ImportState(models.TextChoices):
    """The progress of an import.

    ::

        PREVIEW ─▶ WAITING ─▶ RUNNING ─▶ DONE
                      ▲          │ └───▶ FAILED
                      └──────────┘ its worker died
    """

    PREVIEW = "preview", "Preview"
    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"


class GraphImport(TenantModel):
    """A file of entities and facts that someone uploaded; nothing is imported before they confirm.

    ``payload`` is what was read of it (``ingestion.exchange.importing.graph_of``), emptied when the
    import has ended. ``choices`` say what to do with conflicts, ``counts`` what was imported and
    left out, ``event`` is the change in the history. ``worker`` is the
    ``kb_project.jobs.workers.worker_name`` of the process that runs it.
    """

    name = models.CharField(max_length=200)
    format = models.CharField(max_length=12)
    payload = models.BinaryField()
    state = models.CharField(
        max_length=8, choices=ImportState.choices, default=ImportState.PREVIEW, db_default="preview"
    )
    choices = models.JSONField(default=dict, db_default={}, blank=True)
    reason = models.TextField(blank=True, default="", db_default="")
    via = models.CharField(max_length=12, blank=True, default="", db_default="")
    counts = models.JSONField(default=dict, db_default={}, blank=True)
    problem = models.JSONField(null=True, blank=True)
    event = TenantForeignKey(HistoryEvent, null=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    worker = models.CharField(max_length=80, default="", db_default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["workspace", "-created_at"], name="graph_import_newest")]

    def __str__(self) -> str:
        return f"{self.name}: {self.state}"
