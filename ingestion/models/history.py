"""Who did what to documents and to the graph, and what can be undone."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from workspaces.models import TenantForeignKey, TenantModel, TenantPart


class EventKind(models.TextChoices):
    """The kind of change. ``UNDO`` undoes another event."""

    ENTITY_CREATED = "entity_created", "Entity created"
    ENTITY_EDITED = "entity_edited", "Entity edited"
    ENTITY_DELETED = "entity_deleted", "Entity deleted"
    ENTITIES_MERGED = "entities_merged", "Entities merged"
    ENTITY_SPLIT = "entity_split", "Entity split"
    MENTIONS_MOVED = "mentions_moved", "Mentions moved"
    NOT_THE_SAME = "not_the_same", "Said to be different"
    RELATIONSHIP_CREATED = "relationship_created", "Fact added"
    RELATIONSHIP_EDITED = "relationship_edited", "Fact edited"
    RELATIONSHIP_DELETED = "relationship_deleted", "Fact deleted"
    GRAPH_IMPORTED = "graph_imported", "Graph imported"
    CLAIM_EDITED = "claim_edited", "Claim edited"
    CLAIM_DELETED = "claim_deleted", "Claim deleted"
    CONFLICT_DECIDED = "conflict_decided", "Conflict decided"
    DOCUMENT_ADDED = "document_added", "Document added"
    DOCUMENT_EDITED = "document_edited", "Document edited"
    DOCUMENT_REPLACED = "document_replaced", "New version"
    DOCUMENT_DISABLED = "document_disabled", "Document disabled"
    DOCUMENT_ENABLED = "document_enabled", "Document enabled"
    DOCUMENT_TRASHED = "document_trashed", "Moved to the trash"
    DOCUMENT_RESTORED = "document_restored", "Restored from the trash"
    DOCUMENT_DELETED = "document_deleted", "Deleted for good"
    DOCUMENT_MOVED = "document_moved", "Moved to a collection"
    COLLECTION_CREATED = "collection_created", "Collection created"
    COLLECTION_RENAMED = "collection_renamed", "Collection renamed"
    COLLECTION_DELETED = "collection_deleted", "Collection deleted"
    DECISION_UNDONE = "decision_undone", "A model's decision undone"
    UNDO = "undo", "Undo"
    COPIED = "copied", "Copied into an edition"


class SubjectKind(models.TextChoices):
    ENTITY = "entity", "Entity"
    RELATIONSHIP = "relationship", "Fact"
    CLAIM = "claim", "Claim"
    CONFLICT = "conflict", "Conflict"
    DOCUMENT = "document", "Document"
    COLLECTION = "collection", "Collection"


class HistoryEvent(TenantModel):
    """One change someone made. The application adds rows and marks them as undone; it may neither
    change nor delete them otherwise. If an account is deleted, the database clears its references.

    ``sequence`` grows by one within the workspace: a later change has a greater number. ``details``
    feeds the sentence in the history, ``{"names": {id: name}, "counts": {…}, "before": {…},
    "after": {…}, "token": name, …}``. Events of one ``batch`` are undone together. ``via`` is the
    origin: page, api, command or schedule.
    """

    sequence = models.BigIntegerField()
    kind = models.CharField(max_length=24, choices=EventKind.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.DO_NOTHING, related_name="+"
    )
    via = models.CharField(max_length=12, blank=True, default="", db_default="")
    request_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    reason = models.TextField(blank=True)
    details = models.JSONField(default=dict)
    batch = models.UUIDField(null=True, blank=True)
    undoes = TenantForeignKey("self", null=True)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-sequence"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "sequence"], name="event_sequence_once"),
        ]
        indexes = [
            models.Index(fields=["workspace", "batch"], name="event_batch"),
            models.Index(fields=["workspace", "-created_at", "-id"], name="event_latest"),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.kind}"


class HistorySubject(TenantPart):
    """What an event changed. The greatest ``sequence`` of a subject is its revision.

    No foreign key references the subject: its history outlives it.
    """

    pk = models.CompositePrimaryKey("workspace_id", "event_id", "subject_id")
    event = TenantForeignKey(HistoryEvent, related_name="subjects")
    subject_id = models.UUIDField()
    kind = models.CharField(max_length=12, choices=SubjectKind.choices)
    sequence = models.BigIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "subject_id", "-sequence"], name="subject_history"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"
