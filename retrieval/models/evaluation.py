"""Question sets that a workspace measures itself by, and the runs over them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from workspaces.models import TenantForeignKey, TenantModel


class QuestionSet(TenantModel):
    """A named list of questions to measure with."""

    name = models.CharField(max_length=120)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="question_set_once"),
        ]

    def __str__(self) -> str:
        return self.name


class SetQuestion(TenantModel):
    """A question, what a good answer says, and where the documents say it.

    ``evidence`` is ``[{"document": id or title, "chunk": ordinal or null, "quote": text or ""},
    …]``. A question made from the documents counts once a person has accepted it.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"

    question_set = TenantForeignKey(QuestionSet, related_name="questions")
    ordinal = models.PositiveIntegerField()
    text = models.TextField()
    answer = models.TextField(blank=True)
    evidence = models.JSONField(default=list)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACCEPTED)
    origin = models.CharField(max_length=20, default="person", help_text="person, file, documents")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["ordinal"]
        indexes = [models.Index(fields=["workspace", "question_set"], name="question_of_set")]

    def __str__(self) -> str:
        return self.text[:60]


class RunProgress(models.TextChoices):
    QUEUED = "queued", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    STOPPED = "stopped", "Stopped"


class RunKind(models.TextChoices):
    MEASURE = "measure", "Measuring"
    MAKE = "make", "Making questions"


class EvaluationRun(TenantModel):
    """A set's questions put to several modes at one state of the documents.

    QUEUED → RUNNING → DONE, FAILED or STOPPED; back to QUEUED if someone continues a run that
    failed, stopped or has failed questions: existing results are kept. ``summary`` is ``{mode:
    {metric: value}}``; ``modes`` and ``ks`` are what was requested; ``answers`` says whether
    answers were judged too, or only passages. ``conditions`` is what may differ between runs:
    ``{"documents", "passages", "embedder", "answers_by"}``. A run of kind MAKE makes questions from
    the documents: ``conditions["chunks"]`` are the passages, of which the first ``done`` are
    finished. ``lease_until`` is set while ``worker`` works.
    """

    kind = models.CharField(
        max_length=10, choices=RunKind.choices, default=RunKind.MEASURE, db_default=RunKind.MEASURE
    )
    question_set = TenantForeignKey(QuestionSet, related_name="runs")
    modes = models.JSONField(default=list)
    ks = models.JSONField(default=list)
    answers = models.BooleanField(default=False)
    judged_by = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=10, choices=RunProgress.choices, default=RunProgress.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    wants_stop = models.BooleanField(default=False)
    worker = models.CharField(max_length=100, blank=True, default="", db_default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    conditions = models.JSONField(default=dict, db_default={})
    summary = models.JSONField(default=dict)
    problem = models.JSONField(null=True, blank=True)
    corpus = models.CharField(max_length=64, blank=True, help_text="State of the documents.")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["workspace", "question_set", "-created_at"], name="run_of_set_newest"
            ),
            models.Index(
                fields=["workspace", "state"],
                name="run_unfinished",
                condition=models.Q(state__in=["queued", "running"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question_set_id} at {self.created_at:%Y-%m-%d %H:%M}"


class EvaluationResult(TenantModel):
    """One question in one mode of one run: its metrics, and what they were measured on."""

    run = TenantForeignKey(EvaluationRun, related_name="results")
    question = TenantForeignKey(SetQuestion, related_name="results")
    mode = models.CharField(max_length=20)
    metrics = models.JSONField(default=dict)
    answer = models.TextField(blank=True)
    passages = models.JSONField(default=list)
    claims = models.JSONField(
        default=dict, help_text="Claims of both answers and what each entails."
    )
    problem = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "run", "question", "mode"], name="result_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.mode} of {self.question_id}"
