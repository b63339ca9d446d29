"""Decisions about entities and relationships, which apply on top of the documents, and suggestions.

People never change the graph directly: every run derives the rows of entities, mentions and
relationships from what was extracted and from the active decisions. So a decision outlives the
documents it was made on, and undoing it gives the graph there would be without it. An entity is
identified by its key and its sense (``ingestion.resolution.keys.Ref``).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import models

from ingestion.models.documents import Document
from ingestion.models.history import HistoryEvent
from ingestion.models.knowledge import Entity
from workspaces.models import TenantForeignKey, TenantModel, TenantPart


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
            models.Index(
                fields=["workspace", "document"],
                condition=models.Q(document__isnull=False),
                name="decision_in_document",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.left_key}: {self.verdict}"

    @property
    def is_by_person(self) -> bool:
        return self.by == self.By.PERSON

    @property
    def ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The key and sense of both sides."""
        return (self.left_key, self.left_sense), (self.right_key, self.right_sense)

    @property
    def kept(self) -> tuple[str, int] | None:
        """The entity of the pair that people chose to keep."""
        return None if self.keeps_right is None else self.ends[self.keeps_right]

    @property
    def rank(self) -> tuple[bool, datetime, str]:
        """Sort key: the decision that counts comes last, a person's before the latest."""
        own_id: uuid.UUID | None = self.pk
        return self.is_by_person, self.created_at, str(own_id or self.event_id)


class MergeSuggestion(TenantPart, TenantModel):
    """Two entities that may be one: the grey zone of resolution, for a person to decide.

    ``score`` is the certainty, from 0 to 1. ``reasons`` are ``[{"kind", "weight", "words"}, …]``,
    the weightiest first; ``reason`` is the same in one line. ``effect`` grows with what a merge
    would move, with diminishing increments: the logarithm of mentions and facts of the smaller of
    the two. ``state`` is as of when the pair was last found: active decisions take precedence
    (``ingestion.resolution.decisions``).
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


class SuggestionState(TenantModel):
    """What a workspace's entities were when they were last compared, by their ``digests``, 8 bytes
    each: none where all are compared every time. ``seconds`` is what comparing all of them took.
    """

    digests = models.BinaryField()
    seconds = models.FloatField()
    compared_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace"], name="suggestion_state_once"),
        ]

    def __str__(self) -> str:
        return f"all at {self.compared_at}"


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


class Ruling(TenantModel):
    """A decision that is active until ``undone_at``; of two that contradict, the later one wins.

    ``sequence`` is its event's.
    """

    event = TenantForeignKey(HistoryEvent)
    sequence = models.BigIntegerField()
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


@dataclass(frozen=True, slots=True)
class MentionPosition:
    """Where a mention is: ``own_key`` is its own name, ``offset`` counts from its passage."""

    document_id: uuid.UUID
    chunk_id: uuid.UUID | None = None
    own_key: str = ""
    offset: int | None = None


class MentionPlacement(Ruling):
    """Assigns mentions to another entity than their name indicates: the rows of a split and of a
    move.

    It applies to a mention that matches every field that is set: ``key``, the name the mention is
    read as before any decision; ``own_key``, the mention's own name where that differs; the
    document; the passage, and ``offset``, where in the passage it begins. The most specific row
    wins. ``chunk_id`` has no foreign key: a passage may disappear with its document and come back.
    """

    key = models.CharField(max_length=300)
    own_key = models.CharField(max_length=300, blank=True)
    document = TenantForeignKey(Document, null=True)
    chunk_id = models.UUIDField(null=True, blank=True)
    offset = models.PositiveIntegerField(null=True, blank=True)
    target_key = models.CharField(max_length=300)
    target_sense = models.PositiveSmallIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "key"], name="placement_of_key"),
            models.Index(fields=["workspace", "target_key"], name="placement_target"),
            models.Index(fields=["workspace", "event"], name="placement_event"),
            models.Index(fields=["workspace", "document"], name="placement_in_document"),
        ]

    def __str__(self) -> str:
        return f"{self.key} → {self.target_key}"

    def covers(self, position: MentionPosition) -> bool:
        return (
            (not self.own_key or self.own_key == position.own_key)
            and self.document_id in (None, position.document_id)
            and self.chunk_id in (None, position.chunk_id)
            and self.offset in (None, position.offset)
        )

    @property
    def specificity(self) -> tuple[bool, bool, bool, bool]:
        """Sort key: of two rows that cover a mention, the greater one counts, then the later."""
        return (
            self.offset is not None,
            self.chunk_id is not None,
            self.document_id is not None,
            bool(self.own_key),
        )


class HiddenName(TenantPart, TenantModel):
    """A key deleted by a person that a document still names: no mention records it."""

    document = TenantForeignKey(Document)
    key = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "key", "document"], name="hidden_name_once"
            ),
        ]
        indexes = [models.Index(fields=["workspace", "document"], name="hidden_in_document")]

    def __str__(self) -> str:
        return self.key


class EntityRuling(Ruling):
    """One decision of a person about an entity.

    ``value`` is the name, type, description or alias; it is empty for the other fields.
    """

    class Field(models.TextChoices):
        CREATED = "created", "Exists, whatever documents say"
        DELETED = "deleted", "Is nothing to be kept"
        NAME = "name", "Name"
        TYPE = "type", "Type"
        DESCRIPTION = "description", "Description"
        ALIAS = "alias", "Also goes by"
        NO_ALIAS = "no_alias", "Does not go by"
        PROTECTED = "protected", "Keeps what it says"
        UNPROTECTED = "unprotected", "May change with the documents"
        CONFIRMED = "confirmed", "Reviewed and confirmed"

    key = models.CharField(max_length=300)
    sense = models.PositiveSmallIntegerField(default=0)
    field = models.CharField(max_length=12, choices=Field.choices)
    value = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "key", "sense"], name="entity_ruling_of"),
            models.Index(fields=["workspace", "event"], name="entity_ruling_event"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.field}"


class RelationshipRuling(Ruling):
    """One decision of a person about the relationship from one entity to another."""

    class Field(models.TextChoices):
        CREATED = "created", "Exists, whatever documents say"
        DELETED = "deleted", "Is nothing to be kept"
        DESCRIPTION = "description", "Description"
        KEYWORDS = "keywords", "Keywords, one a line"

    source_key = models.CharField(max_length=300)
    source_sense = models.PositiveSmallIntegerField(default=0)
    target_key = models.CharField(max_length=300)
    target_sense = models.PositiveSmallIntegerField(default=0)
    field = models.CharField(max_length=12, choices=Field.choices)
    value = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["workspace", "source_key", "target_key"], name="relationship_ruling_of"
            ),
            models.Index(fields=["workspace", "event"], name="relationship_ruling_event"),
        ]

    def __str__(self) -> str:
        return f"{self.source_key} → {self.target_key}: {self.field}"


class ClaimRuling(Ruling):
    """One decision of a person about what a document claims.

    It applies to the claim of that document with the same quote and the same words, wherever the
    passage is now, or to the only claim with that quote if a model has worded it differently since.
    ``quote`` and ``words`` are digests (``ingestion.resolution.keys.words_digest``). ``key`` names
    the claim's subject.
    """

    class Field(models.TextChoices):
        DELETED = "deleted", "Is nothing to be kept"
        DESCRIPTION = "description", "Description"
        TYPE = "type", "Type"
        STATUS = "status", "Status"
        PERIOD_START = "period_start", "Holds from"
        PERIOD_END = "period_end", "Holds until"

    document = TenantForeignKey(Document)
    key = models.CharField(max_length=300)
    quote = models.CharField(max_length=32)
    words = models.CharField(max_length=32)
    field = models.CharField(max_length=12, choices=Field.choices)
    value = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "document"], name="claim_ruling_in_document"),
            models.Index(fields=["workspace", "event"], name="claim_ruling_event"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.field}"
