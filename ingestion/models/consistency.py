"""What was found when everything a workspace holds was compared with everything it follows from."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from workspaces.models import TenantModel


class CheckState(models.TextChoices):
    """How far a check is.

    ::

        WAITING ─▶ RUNNING ─▶ DONE
           ▲          │
           └──────────┘ its worker died
    """

    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"


class ConsistencyCheck(TenantModel):
    """One look at a whole workspace, by the schedule or because somebody asked.

    ``drifts`` and ``waiting`` are ``[{"check", "sentence", "count", "samples", "next_step",
    "is_repaired_by_machine"}, …]``, ``repaired`` sentences of what was done. ``done`` of ``total``
    checks are through. ``worker`` is ``ingestion.leases.worker_name`` of who runs it.
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
            # One at a time: who asks while one is under way is given that one.
            models.UniqueConstraint(
                fields=["workspace"],
                condition=~models.Q(state="done"),
                name="check_one_unfinished",
            ),
        ]
        indexes = [models.Index(fields=["workspace", "-created_at"], name="check_newest")]

    def __str__(self) -> str:
        return f"{self.state} check of {self.workspace_id}"
