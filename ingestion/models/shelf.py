"""The shelf: what was read of documents that are disabled or in the trash.

Nothing searches these tables and nothing counts them: whatever looks at chunks, vectors or words
needs no thought for documents that are put away (``ingestion.shelf``). Rows keep the ids they had.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from pgvector.django import HalfVectorField

from ingestion.models.documents import Document, DocumentVersion
from workspaces.models import TenantModel, Workspace
from workspaces.querysets import TenantQuerySet


class ShelvedChunk(TenantModel):
    """A row of ``Chunk``, put away."""

    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    version = models.ForeignKey(
        DocumentVersion,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    ordinal = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    text = models.TextField()
    context = models.TextField(blank=True)
    tokens = models.PositiveIntegerField()
    terms = models.PositiveIntegerField(null=True)
    page_first = models.PositiveIntegerField(null=True)
    page_last = models.PositiveIntegerField(null=True)
    heading_path = ArrayField(models.TextField(), default=list)
    regions = models.JSONField(default=list, db_default=[])

    class Meta:
        indexes = [models.Index(fields=["workspace", "document"], name="shelved_chunk_of")]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start}:{self.end}]"


class ShelvedRow(models.Model):
    """What belongs to one shelved chunk, and goes with it."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.DO_NOTHING, related_name="+", db_index=False
    )
    chunk = models.ForeignKey(
        ShelvedChunk,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )

    objects = TenantQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.chunk_id)


class ShelvedExtraction(ShelvedRow):
    """A row of ``ChunkExtraction``, put away."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id")
    method = models.CharField(max_length=80)
    payload = models.JSONField()
    problem = models.JSONField(null=True, blank=True)
    rejected = models.JSONField(default=dict, db_default={}, blank=True)


class ShelvedVector(ShelvedRow):
    """A row of ``ChunkEmbedding``, put away."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "fingerprint")
    fingerprint = models.CharField(max_length=80)
    vector = HalfVectorField()


class ShelvedSentenceVector(ShelvedRow):
    """A row of ``SentenceVector``, put away."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "start", "fingerprint")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=80)
    vector = HalfVectorField()


class ShelvedPosting(ShelvedRow):
    """A row of ``Posting``, put away."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "term")
    term = models.CharField(max_length=80)
    frequency = models.PositiveSmallIntegerField()
