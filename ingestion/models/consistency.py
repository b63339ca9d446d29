"""Results of checking a workspace's data against the data it is derived from."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from workspaces.models import TenantModel


class CheckState(models.TextChoices):
    """The progress of a check.

    ::

        WAITING ─▶ RUNNING ─▶ DONE
           ▲          │
           └──────────┘ its worker died
    """

    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"


class ConsistencyCheck(TenantModel):
    """One check of a whole workspace, scheduled or requested by a user.

    ``drifts`` are ``[{"check", "sentence", "count", "samples", "next_step", "is_repairable"}, …]``,
    ``waiting`` ``[{"check", "sentence", "count"}, …]``; ``repaired`` holds sentences on what was
    repaired. ``done`` of ``total`` steps are finished. ``worker`` is the
    ``kb_project.jobs.workers.worker_name`` of the process that runs it.
    """

    state = models.CharField(
        max_length=8, choices=CheckState.choices, default=CheckState.WAITING, db_default="waiting"
    )
    is_deep = models.BooleanField(default=False, db_default=False)
    repairs = models.BooleanField(default=False, db_default=False)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    worker = models.CharField(max_length=80, default="", db_default="", blank=True)
    done = models.PositiveIntegerField(default=0, db_default=0)
    total = models.PositiveIntegerField(default=0, db_default=0)
    drifts = models.JSONField(default=list, db_default=[], blank=True)
    waiting = models.JSONField(default=list, db_default=[], blank=True)
    repaired = models.JSONField(default=list, db_default=[], blank=True)
    seconds = models.FloatField(default=0, db_default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # One at a time: a request made while a check is unfinished gets that check.
            models.UniqueConstraint(
                fields=["workspace"],
                condition=~models.Q(state="done"),
                name="check_one_unfinished",
            ),
        ]
        indexes = [models.Index(fields=["workspace", "-created_at"], name="check_newest")]

    def __str__(self) -> str:
        return f"{self.state} check of {self.workspace_id}"
