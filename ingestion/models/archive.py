"""The archive: chunks, extractions, vectors and words of documents that are disabled or in the
trash.

Nothing searches or counts these tables, so code that reads chunks, vectors or words can ignore
archived documents (``ingestion.documents.archive``). Rows keep their ids.
"""

from __future__ import annotations

from django.db import models
from pgvector.django import HalfVectorField

from ingestion.models.documents import ChunkFields, Document, DocumentVersion
from workspaces.models import TenantForeignKey, Workspace
from workspaces.querysets import TenantQuerySet


class ArchivedChunk(ChunkFields):
    """An archived row of ``Chunk``."""

    document = TenantForeignKey(Document)
    version = TenantForeignKey(DocumentVersion)

    class Meta:
        db_table = "ingestion_shelvedchunk"
        indexes = [models.Index(fields=["workspace", "document"], name="shelved_chunk_of")]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start}:{self.end}]"


class ArchivedRow(models.Model):
    """A row that belongs to one archived chunk and is deleted with it."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.DO_NOTHING, related_name="+", db_index=False
    )
    chunk = TenantForeignKey(ArchivedChunk)

    objects = TenantQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.chunk_id)


class ArchivedExtraction(ArchivedRow):
    """An archived row of ``ChunkExtraction``."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id")
    method = models.CharField(max_length=80)
    payload = models.JSONField()
    problem = models.JSONField(null=True, blank=True)
    rejected = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta(ArchivedRow.Meta):
        db_table = "ingestion_shelvedextraction"


class ArchivedVector(ArchivedRow):
    """An archived row of ``ChunkEmbedding``."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "fingerprint")
    fingerprint = models.CharField(max_length=80)
    vector = HalfVectorField()

    class Meta(ArchivedRow.Meta):
        db_table = "ingestion_shelvedvector"


class ArchivedSentenceVector(ArchivedRow):
    """An archived row of ``SentenceVector``."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "start", "fingerprint")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=80)
    vector = HalfVectorField()

    class Meta(ArchivedRow.Meta):
        db_table = "ingestion_shelvedsentencevector"


class ArchivedPosting(ArchivedRow):
    """An archived row of ``Posting``."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "term")
    term = models.CharField(max_length=80)
    frequency = models.PositiveSmallIntegerField()

    class Meta(ArchivedRow.Meta):
        db_table = "ingestion_shelvedposting"
