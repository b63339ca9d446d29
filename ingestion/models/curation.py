"""What people decided about entities and relationships. The graph is read under these rows.

Nothing of the graph itself is changed by hand: the rows of entities, mentions and relationships
follow from what was extracted and from the rulings that stand, on every run, so that a ruling
outlives the documents it was made on and taking it back gives what there would be without it.
An entity is named by its key and its sense (``ingestion.identity.Ref``).
"""

from __future__ import annotations

from django.db import models

from ingestion.models.documents import Document
from ingestion.models.history import HistoryEvent
from workspaces.models import TenantModel


class Ruling(TenantModel):
    """A row that counts until ``undone_at``; of two that say different things, the later one.

    ``sequence`` is that of its event.
    """

    event = models.ForeignKey(
        HistoryEvent,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    sequence = models.BigIntegerField()
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class MentionPlacement(Ruling):
    """Mentions that mean another entity than their name says: the rows of a split and of a move.

    A mention is meant when everything that is set agrees: ``key``, the name it is read as before
    anything was decided; ``own_key``, the name it has itself where that is another; the document;
    the passage, and ``offset``, where in the passage it begins. The one that says most wins.
    ``chunk_id`` has no foreign key: a passage may go with its document and come back.
    """

    key = models.CharField(max_length=300)
    own_key = models.CharField(max_length=300, blank=True)
    document = models.ForeignKey(
        Document,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
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
    """A document names something of this key that is deleted: there is no mention to say so."""

    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
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
    """One thing a person said of an entity.

    ``value`` is the name, the type, the description or the alias; of the other fields it is empty.
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
    """One thing a person said of the link from one entity to another."""

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
