"""Decisions about names that may mean the same entity, and suggestions still to be decided."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from ingestion.models.documents import Document
from ingestion.models.history import HistoryEvent
from ingestion.models.knowledge import Entity
from workspaces.models import TenantForeignKey, TenantModel


class Verdict(models.TextChoices):
    SAME = "same", "The same"
    DIFFERENT = "different", "Not the same"
    UNSURE = "unsure", "Not certain"


class ResolutionDecision(TenantModel):
    """Whether two names mean one entity, who decided it, and why. Resolution obeys it on every run.

    Between two keys (``left_key`` sorts first), SAME reads the right one as the left one. Within
    one key (``right_key`` is ''), in ``document`` the name means the entity of ``sense``.
    ``left_sense`` and ``right_sense`` say which homonym of either name is meant. ``keeps_right``:
    the merged entity is the right one; null, where no one chose, keeps the left one
    (``ingestion.resolution.overrides``). ``event`` is the change by a person that it came with.

    A person's decision wins over every later one by a model. An undone decision has ``undone_at``
    and no longer counts.
    """

    class By(models.TextChoices):
        MODEL = "model", "A model"
        PERSON = "person", "A person"

    left_key = models.CharField(max_length=300)
    right_key = models.CharField(max_length=300, blank=True)
    document = TenantForeignKey(Document, null=True)
    sense = models.PositiveSmallIntegerField(default=0)
    left_sense = models.PositiveSmallIntegerField(default=0, db_default=0)
    right_sense = models.PositiveSmallIntegerField(default=0, db_default=0)
    keeps_right = models.BooleanField(null=True, blank=True)
    event = TenantForeignKey(HistoryEvent, null=True)
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    reason = models.TextField(blank=True)
    by = models.CharField(max_length=8, choices=By.choices)
    model = models.CharField(max_length=120, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "left_key"], name="decision_left"),
            models.Index(fields=["workspace", "right_key"], name="decision_right"),
        ]

    def __str__(self) -> str:
        return f"{self.left_key}: {self.verdict}"


class MergeSuggestion(TenantModel):
    """Two entities that may be one: the grey zone of resolution, for a person to decide.

    ``score`` is the certainty, from 0 to 1. ``reasons`` are ``[{"kind", "weight", "words"}, …]``,
    the weightiest first; ``reason`` is the same in one line. ``effect`` grows with what a merge
    would move, with diminishing increments: the logarithm of mentions and facts of the smaller of
    the two. ``state`` is as of when the pair was last found: active decisions take precedence
    (``ingestion.resolution.pair_decisions``).
    """

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ACCEPTED = "accepted", "Merged"
        REJECTED = "rejected", "Not the same"

    left = TenantForeignKey(Entity)
    right = TenantForeignKey(Entity)
    score = models.FloatField()
    reason = models.CharField(max_length=300)
    reasons = models.JSONField(default=list, db_default=[], blank=True)
    effect = models.FloatField(default=0, db_default=0)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "left", "right"], name="suggestion_once"),
        ]
        indexes = [models.Index(fields=["workspace", "right"], name="suggestion_right")]

    def __str__(self) -> str:
        return self.reason


class SuggestionSkip(TenantModel):
    """A case that a person put off: it comes back to them after the others.

    ``case`` is derived from the entities in it (``ingestion.suggestions.cases``).
    """

    user = TenantForeignKey(settings.AUTH_USER_MODEL)
    case = models.UUIDField()
    skipped_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user", "case"], name="skip_once"),
        ]

    def __str__(self) -> str:
        return str(self.case)
