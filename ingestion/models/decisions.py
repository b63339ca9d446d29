"""What was decided about names that may be one thing, and what is still to be decided."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from ingestion.models.documents import Document
from ingestion.models.history import HistoryEvent
from ingestion.models.knowledge import Entity
from workspaces.models import TenantModel


class Verdict(models.TextChoices):
    SAME = "same", "The same"
    DIFFERENT = "different", "Not the same"
    UNSURE = "unsure", "Not certain"


class ResolutionDecision(TenantModel):
    """Whether two names are one thing, who decided it, and why. Resolution obeys it on every run.

    Between two keys (``left_key`` sorts first): SAME reads the right one as the left one.
    Within one key (``right_key`` is ''): in ``document`` the name means the entity of ``sense``.
    ``left_sense`` and ``right_sense`` say which thing of either name is meant. ``keeps_right``: the
    united entity is the right one; what nobody chose is the left one (see ``ingestion.rulings``).
    ``event`` is the person's deed that it came with.
    A person's decision stands against every later one of a model; one that was taken back has
    ``undone_at`` and counts no more.
    """

    class By(models.TextChoices):
        MODEL = "model", "A model"
        PERSON = "person", "A person"

    left_key = models.CharField(max_length=300)
    right_key = models.CharField(max_length=300, blank=True)
    document = models.ForeignKey(
        Document,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    sense = models.PositiveSmallIntegerField(default=0)
    left_sense = models.PositiveSmallIntegerField(default=0, db_default=0)
    right_sense = models.PositiveSmallIntegerField(default=0, db_default=0)
    keeps_right = models.BooleanField(null=True, blank=True)
    event = models.ForeignKey(
        HistoryEvent,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
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

    ``score`` is how certain it is, from 0 to 1. ``reasons`` are ``[{"kind", "weight", "words"},
    …]``, the weightiest first, ``reason`` is the same in one line. ``effect`` grows with what a
    merge moves, ever more slowly: the logarithm of mentions and facts of the lesser of the two.
    ``state`` is as of when it was last found: decisions that stand are what counts
    (``ingestion.suggestions.decided``).
    """

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ACCEPTED = "accepted", "Merged"
        REJECTED = "rejected", "Not the same"

    left = models.ForeignKey(
        Entity, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    right = models.ForeignKey(
        Entity, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
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

    ``case`` follows from the entities that are in it (``ingestion.suggestions.cases``).
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    case = models.UUIDField()
    skipped_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user", "case"], name="skip_once"),
        ]

    def __str__(self) -> str:
        return str(self.case)
