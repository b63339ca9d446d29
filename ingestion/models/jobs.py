"""The record of work: jobs with a run for each stage, checks of a workspace's data, imports.

A job is the ingestion of one document version, one refresh of the workspace, or a person's change
that concerns many documents.
"""

from __future__ import annotations

import uuid
from typing import ClassVar, Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from ingestion.models.documents import Document, DocumentVersion
from ingestion.models.history import HistoryEvent
from workspaces.models import TenantForeignKey, TenantModel, TenantPart, Workspace
from workspaces.models.people import TenantQuerySet


class JobKind(models.TextChoices):
    """Where a lane has work of several kinds, the one whose value sorts first goes first."""

    CHANGE = "change", "Applying a change"
    DOCUMENT = "document", "Document"
    WORKSPACE = "workspace", "Workspace refresh"
    REEMBED = "reembed", "New vectors"
    TUNE = "tune", "Learning from a sample"


class RunState(models.TextChoices):
    """States of a job and of each of its stage runs.

    ::

        PENDING ─▶ RUNNING ─▶ DONE
           ▲▲         │├────▶ FAILED      (retry: back to PENDING)
           │└─────────┘├────▶ CANCELLED
           │ lease     └────▶ PAUSED      (budget spent, model away)
           │ ran out              │
           └──────────────────────┘ resumed
    """

    PENDING = "pending", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    PAUSED = "paused", "Paused"


UNFINISHED: Final = (RunState.PENDING, RunState.RUNNING)
UNDER_WAY: Final = (*UNFINISHED, RunState.PAUSED)


class IngestionJob(TenantModel):
    """The ingestion of one document version, or work on the whole workspace.

    ``problem`` is ``{"code", "happened", "kept", "next_step"}`` when the job failed, is paused or
    was stopped by a user. A job cancelled without a problem was set aside: another version replaced
    the one it was processing.
    """

    SET_ASIDE: ClassVar = models.Q(state=RunState.CANCELLED, problem__isnull=True)

    kind = models.CharField(max_length=12, choices=JobKind.choices)
    document = TenantForeignKey(Document, null=True, related_name="jobs")
    version = TenantForeignKey(DocumentVersion, null=True, related_name="jobs")
    state = models.CharField(max_length=12, choices=RunState.choices, default=RunState.PENDING)
    problem = models.JSONField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace"],
                condition=models.Q(kind="workspace", state="pending"),
                name="job_one_pending_refresh",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "document"], name="job_of_document"),
            models.Index(fields=["workspace", "version"], name="job_of_version"),
            models.Index(
                fields=["workspace", "created_at"],
                condition=models.Q(state__in=["pending", "running"]),
                name="job_unfinished",
            ),
            models.Index(
                fields=["workspace"], condition=models.Q(state="paused"), name="job_paused"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} job {self.pk}"


class StageRun(TenantPart, TenantModel):
    """One stage of one job. The lease holder works on it; an expired lease is free to take."""

    job = TenantForeignKey(IngestionJob, related_name="stage_runs")
    stage = models.CharField(max_length=20)
    ordinal = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=12, choices=RunState.choices, default=RunState.PENDING)
    units_done = models.PositiveIntegerField(default=0)
    units_total = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    leased_by = models.CharField(max_length=80, blank=True, help_text="host:pid of the worker.")
    leased_until = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(default=0)
    problem = models.JSONField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "job", "stage"], name="stage_once"),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "stage"],
                condition=models.Q(state__in=["pending", "running"]),
                name="stage_unfinished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stage} of {self.job_id}"


class NameChange(TenantModel):
    """A change to names that concerns too many documents for a request, until all are resolved.

    ``documents`` are resolved in this order; if there are none, those that name an entity with one
    of the ``keys``, by ascending id. ``after`` is the last document done.
    """

    job = TenantForeignKey(IngestionJob, related_name="name_changes")
    keys = ArrayField(models.TextField())
    documents = ArrayField(models.UUIDField(), default=list)
    after = models.UUIDField(default=uuid.UUID(int=0))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "job"], name="change_of_job")]

    def __str__(self) -> str:
        return f"names of job {self.job_id}"


class LaneCall(models.Model):
    """A call to a lane: a party, the workspace with this id, has work in it.

    Not a tenant's row, since turns go round between workspaces: see ``ingestion.pipeline.turns``.
    """

    lane = models.CharField(max_length=20)
    party = models.UUIDField()

    class Meta:
        indexes = [models.Index(fields=["lane", "party", "id"], name="lane_calls_by_party")]

    def __str__(self) -> str:
        return f"call to {self.lane}"


class CorpusVersion(models.Model):
    """A counter that grows in the transaction that ends any stage of any document or refresh.

    While a job is unfinished, searchable data changes without it: read it through
    ``ingestion.knowledge.corpus``. ``trees_seen`` is the number at which no summary tree was
    missing: while both are the same, none is.
    """

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.DO_NOTHING, related_name="+"
    )
    number = models.BigIntegerField(default=0)
    trees_seen = models.BigIntegerField(default=0, db_default=0)

    objects = TenantQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.workspace_id} at {self.number}"


class CorpusCount(TenantModel):
    """What a statement added to what a workspace's searches count, or took from it if negative.

    Triggers of the counted tables write the rows, in the transaction of what they count, so that no
    writer can forget them and none waits for another; the sums are the counts. Rows are summed up
    when ``CorpusVersion`` grows. ``fingerprint`` is the model of ``vectors``, empty in other rows;
    ``documents`` are those searched, ``indexed`` the passages with words in the index, ``terms``
    all their terms. Read it through ``ingestion.knowledge.corpus``.
    """

    # Referenced ON DELETE CASCADE: deleting a workspace's other rows writes some here.
    workspace = models.ForeignKey(
        Workspace,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    fingerprint = models.CharField(max_length=80, default="", db_default="", blank=True)
    documents = models.IntegerField(default=0, db_default=0)
    passages = models.IntegerField(default=0, db_default=0)
    indexed = models.IntegerField(default=0, db_default=0)
    terms = models.BigIntegerField(default=0, db_default=0)
    vectors = models.IntegerField(default=0, db_default=0)
    topics = models.IntegerField(default=0, db_default=0)
    reports = models.IntegerField(default=0, db_default=0)

    class Meta:
        constraints = []

    def __str__(self) -> str:
        return f"{self.passages} passages, {self.vectors} vectors"


class CommonTerms(models.Model):
    """How many of a large workspace's passages have each term that thousands have.

    Counted now and then (``ingestion.knowledge.corpus``), since counting them takes a question
    longer than all else that it asks of its words. ``of_passages`` is how many passages there were.
    """

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.DO_NOTHING, related_name="+"
    )
    terms = ArrayField(models.CharField(max_length=80))
    passages = ArrayField(models.PositiveIntegerField())
    of_passages = models.PositiveIntegerField()

    objects = TenantQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{len(self.terms)} terms of {self.of_passages} passages"


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
    ``kb_project.jobs.claims.worker_name`` of the process that runs it.
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


# --- imports of a graph ---------------------------------------------------------------------------
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
    ``kb_project.jobs.claims.worker_name`` of the process that runs it.
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
