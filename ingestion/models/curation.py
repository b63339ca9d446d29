"""People's decisions about entities and relationships, which apply on top of the documents.

People never change the graph directly: every run derives the rows of entities, mentions and
relationships from what was extracted and from the active rulings. So a ruling outlives the
documents it was made on, and undoing it gives the graph there would be without it. An entity is
identified by its key and its sense (``ingestion.resolution.keys.Ref``).
"""

from __future__ import annotations

from django.db import models

from ingestion.models.documents import Document
from ingestion.models.history import HistoryEvent
from workspaces.models import TenantForeignKey, TenantModel


class Ruling(TenantModel):
    """A decision that is active until ``undone_at``; of two that contradict, the later one wins.

    ``sequence`` is its event's.
    """

    event = TenantForeignKey(HistoryEvent)
    sequence = models.BigIntegerField()
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


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
        ]

    def __str__(self) -> str:
        return f"{self.key} → {self.target_key}"


class HiddenName(TenantModel):
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
