"""Sources that disagree, and what people decided about them.

Conflicts are derived from the documents; decisions outlive them, as all decisions do
(``ingestion.models.decisions``).
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ingestion.models.decisions import Ruling
from ingestion.models.documents import Chunk, Document
from ingestion.models.history import HistoryEvent
from ingestion.models.knowledge import Entity
from workspaces.models import TenantForeignKey, TenantModel, TenantPart

KEY_LENGTH = 400


class ConflictKind(models.TextChoices):
    VALUES = "values", "Different values"
    CLAIM = "claim", "Held true and false"
    NOTE = "note", "Contradicting statements"


class ConflictState(models.TextChoices):
    OPEN = "open", "Open"
    DECIDED = "decided", "Decided"
    LEFT = "left", "Left open"


class Conflict(TenantPart, TenantModel):
    """Sources that disagree about one thing, which ``topic`` names and ``about`` identifies.

    ``state`` follows from the decision in force: ``event`` is the change it came with, ``holds``
    the key of the value that holds, '' if all of them may or none was chosen.
    """

    subject = TenantForeignKey(Entity, related_name="disputes")
    kind = models.CharField(max_length=8, choices=ConflictKind.choices)
    about = models.CharField(max_length=32)
    topic = models.CharField(max_length=300)
    state = models.CharField(
        max_length=8, choices=ConflictState.choices, default=ConflictState.OPEN
    )
    holds = models.CharField(max_length=KEY_LENGTH, blank=True, default="", db_default="")
    event = TenantForeignKey(HistoryEvent, null=True)
    found_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "subject", "about"], name="conflict_once"),
        ]
        indexes = [
            models.Index(fields=["workspace", "state", "-found_at"], name="conflict_latest"),
        ]

    def __str__(self) -> str:
        return self.topic


class ConflictSide(TenantPart, TenantModel):
    """One source of a conflict: the span is the quote, ``value`` what it says there.

    Sides with one ``key`` say the same. ``ordinal`` is their place: sides of different values come
    first.
    """

    conflict = TenantForeignKey(Conflict, related_name="sides")
    chunk = TenantForeignKey(Chunk)
    document = TenantForeignKey(Document)
    ordinal = models.PositiveSmallIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    value = models.CharField(max_length=300)
    key = models.CharField(max_length=KEY_LENGTH)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "conflict"], name="side_of_conflict"),
            models.Index(fields=["workspace", "chunk"], name="side_in_chunk"),
            models.Index(fields=["workspace", "document"], name="side_in_document"),
        ]

    def __str__(self) -> str:
        return self.value


class ConflictVerdict(models.TextChoices):
    HOLDS = "holds", "One source is right"
    BOTH = "both", "All of them are right"
    LEFT = "left", "Left open"


class ConflictRuling(Ruling):
    """A person's decision about a conflict, known by its subject and what it is about.

    ``holds`` is the key of the value that holds. ``known`` are the keys of all values at that time:
    a value that agrees with none of them reopens the conflict.
    """

    key = models.CharField(max_length=300)
    sense = models.PositiveSmallIntegerField(default=0)
    about = models.CharField(max_length=32)
    verdict = models.CharField(max_length=8, choices=ConflictVerdict.choices)
    holds = models.CharField(max_length=KEY_LENGTH, blank=True)
    known = ArrayField(models.CharField(max_length=KEY_LENGTH), default=list)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "key", "sense"], name="conflict_ruling_of"),
            models.Index(fields=["workspace", "event"], name="conflict_ruling_event"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.verdict}"
