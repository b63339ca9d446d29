"""Documents, their versions, the chunks that retrieval works on, and the archive.

The archive has the chunks, extractions, vectors and words of documents that are disabled or in the
trash. Nothing searches or counts its tables, so code that reads chunks, vectors or words can ignore
archived documents (``ingestion.documents.archive``). Rows keep their ids.
"""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from pgvector.django import HalfVectorField

from ingestion.models.collections import Collection
from workspaces.models import TenantForeignKey, TenantModel, TenantPart


class DocumentState(models.TextChoices):
    """The state of a document, as its row shows it.

    ::

        QUEUED ─▶ WORKING ─▶ READY
                     │  ▲
                     ▼  │ retry, resume
             ATTENTION, PAUSED
    """

    QUEUED = "queued", "Waiting"
    WORKING = "working", "Working"
    READY = "ready", "Ready"
    ATTENTION = "attention", "Needs attention"
    PAUSED = "paused", "Paused"


class Document(TenantModel):
    """A file a user added. Its text lives in versions.

    ``live_number`` is the number of the version that is searched. A document that is disabled or in
    the trash has no searchable passages or facts: they are in the archive
    (``ingestion.documents.archive``) until it comes back.
    """

    title = models.CharField(max_length=500)
    name = models.CharField(max_length=500, help_text="The file's name as given: a label only.")
    media_type = models.CharField(max_length=120, blank=True)
    size = models.BigIntegerField(help_text="Bytes.")
    sha256 = models.CharField(max_length=64)
    collection = TenantForeignKey(Collection, null=True, blank=True, related_name="documents")
    tags = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    dated = models.DateField(null=True, blank=True, help_text="The date the document speaks of.")
    state = models.CharField(
        max_length=12, choices=DocumentState.choices, default=DocumentState.QUEUED
    )
    live_number = models.PositiveIntegerField(default=1, db_default=1)
    disabled_at = models.DateTimeField(null=True, blank=True)
    trashed_at = models.DateTimeField(null=True, blank=True)
    trashed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "-created_at"], name="document_newest"),
            models.Index(fields=["workspace", "sha256"], name="document_content"),
            models.Index(fields=["workspace", "collection"], name="document_collection"),
            models.Index(
                fields=["workspace", "trashed_at"],
                condition=models.Q(trashed_at__isnull=False),
                name="document_in_trash",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    IS_LIVE: ClassVar = models.Q(disabled_at=None, trashed_at=None)

    @property
    def is_live(self) -> bool:
        """Whether the document is searched."""
        return self.disabled_at is None and self.trashed_at is None


class DocumentVersion(TenantPart, TenantModel):
    """One state of a document's file, and what parsing found in it.

    ``pages`` is ``[[number, start, end], …]`` and ``headings`` ``[[level, title, start], …]``,
    offsets in characters of ``text``. ``regions`` are all stretches that are not prose, in the
    format of ``kb_project.text.regions``. ``chunking`` is ``{"strategy", "size", "overlap"}`` or
    ``{"strategy": "given", "spans": [[start, end], …]}``; a later version has ``spans`` too: its
    chunks, aligned with those of the version before. ``situated_by`` is the model that wrote its
    chunks' context, empty where the context comes from the document itself. ``name``, ``size`` and
    ``sha256`` describe its file; they are empty for a first version, whose file the document
    describes. ``title`` was read from the file, or is the file's name. ``language`` is a code of
    ``kb_project.text.languages``, empty until the file is read; ``metadata`` has the one that the
    file declares. ``changes`` compares it with the version before
    (``ingestion.changes.version_changes``). Only the live version has chunks.
    """

    IS_LIVE_VERSION: ClassVar = models.Q(number=models.F("document__live_number"))
    """The version that is searched, or will be once it has been read."""

    document = TenantForeignKey(Document, related_name="versions")
    number = models.PositiveIntegerField(default=1)
    blob = models.CharField(max_length=200, help_text="Path below the media folder.")
    text = models.TextField(blank=True)
    language = models.CharField(max_length=12, blank=True)
    parser = models.CharField(max_length=40, blank=True)
    encoding = models.CharField(max_length=40, blank=True)
    pages = models.JSONField(default=list, blank=True)
    headings = models.JSONField(default=list, blank=True)
    regions = models.JSONField(default=list, db_default=[], blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    warnings = ArrayField(models.TextField(), default=list, blank=True)
    chunking = models.JSONField(default=dict, blank=True)
    situated_by = models.CharField(max_length=120, default="", db_default="", blank=True)
    name = models.CharField(max_length=500, default="", db_default="", blank=True)
    title = models.CharField(max_length=500, default="", db_default="", blank=True)
    media_type = models.CharField(max_length=120, default="", db_default="", blank=True)
    size = models.BigIntegerField(default=0, db_default=0, help_text="Bytes.")
    sha256 = models.CharField(max_length=64, default="", db_default="", blank=True)
    changes = models.JSONField(null=True, blank=True)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    parsed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "document", "number"], name="version_number_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document_id} v{self.number}"


class ChunkFields(TenantPart, TenantModel):
    """The fields of a chunk, live or archived.

    ``text == version.text[start:end]``. ``context`` situates the chunk in its document and is
    stored separately; vectors and index terms are made from both. ``terms`` is the number of index
    terms, null until the chunk is indexed. ``regions`` are the version's, with offsets from the
    chunk's start.
    """

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
        abstract = True


class Chunk(ChunkFields):
    """A span of a version's text: the unit of embedding, indexing, retrieval and citation."""

    document = TenantForeignKey(Document, related_name="chunks")
    version = TenantForeignKey(DocumentVersion, related_name="chunks")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "version", "ordinal"], name="chunk_ordinal_once"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "document", "ordinal"], name="chunk_of_document"),
            models.Index(fields=["workspace"], include=["terms"], name="chunk_lengths"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start}:{self.end}]"


class ChunkRow(TenantPart):
    """A row that belongs to one chunk, live or archived, and is deleted with it."""

    chunk_id: uuid.UUID

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.chunk_id)


class ExtractionFields(ChunkRow):
    """What an extractor found in one chunk, before resolution.

    ``payload`` is what ``ingestion.extractors`` writes; keeping it makes resolution repeatable
    without reading the chunk again. ``method`` names the extractor and its version. A chunk the
    model could not read has a ``problem`` (in the format of a job's) and an empty payload;
    ``rejected`` counts, by reason, what the model said but the chunk does not support:
    ``{"quote_not_found": 3}``.
    """

    method = models.CharField(max_length=80)
    payload = models.JSONField()
    problem = models.JSONField(null=True, blank=True)
    rejected = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta(ChunkRow.Meta):
        abstract = True


class VectorFields(ChunkRow):
    """A vector of one chunk.

    ``fingerprint`` names model, dimension and roles: vectors of two models are never compared, but
    coexist while one model replaces the other.
    """

    fingerprint = models.CharField(max_length=80)
    vector = HalfVectorField()

    class Meta(ChunkRow.Meta):
        abstract = True


class SentenceVectorFields(VectorFields):
    """The span of a sentence in a chunk (or list entry, row, heading), and its vector.

    ``start`` and ``end`` are offsets from the chunk's start. Sentences are always embedded by the
    installation's own embedder, whichever model embeds the workspace's passages.
    """

    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta(ChunkRow.Meta):
        abstract = True


class PostingFields(ChunkRow):
    """How often a term occurs in a chunk's situated text: the lexical index.

    ``length`` is the chunk's ``terms``, so that ranking reads no chunk.
    """

    term = models.CharField(max_length=80)
    frequency = models.PositiveSmallIntegerField()
    length = models.PositiveIntegerField()

    class Meta(ChunkRow.Meta):
        abstract = True


class ChunkExtraction(ExtractionFields):
    """What an extractor found in a live chunk."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id")
    chunk = TenantForeignKey(Chunk)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "method"], include=["chunk"], name="read_by_method"),
        ]


class ChunkEmbedding(VectorFields):
    """A vector of a live chunk. The table is partitioned by workspace."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "fingerprint")
    chunk = TenantForeignKey(Chunk)

    class Meta:
        managed = False  # Django cannot write PARTITION BY; migration 0002 creates the table
        db_table = "ingestion_chunkembedding"


class SentenceVector(SentenceVectorFields):
    """The vector of a sentence in a live chunk."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "start", "fingerprint")
    chunk = TenantForeignKey(Chunk)


class Posting(PostingFields):
    """A term in a live chunk."""

    pk = models.CompositePrimaryKey("workspace_id", "term", "chunk_id")
    chunk = TenantForeignKey(Chunk)

    class Meta:
        indexes = [models.Index(fields=["workspace", "chunk"], name="posting_of_chunk")]


# --- the archive ----------------------------------------------------------------------------------
class ArchivedChunk(ChunkFields):
    """An archived row of ``Chunk``."""

    document = TenantForeignKey(Document)
    version = TenantForeignKey(DocumentVersion)

    class Meta:
        db_table = "ingestion_shelvedchunk"
        indexes = [
            models.Index(fields=["workspace", "document"], name="shelved_chunk_of"),
            models.Index(fields=["workspace", "version"], name="shelved_chunk_of_version"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start}:{self.end}]"


class ArchivedExtraction(ExtractionFields):
    """An archived row of ``ChunkExtraction``."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id")
    chunk = TenantForeignKey(ArchivedChunk)

    class Meta:
        db_table = "ingestion_shelvedextraction"


class ArchivedVector(VectorFields):
    """An archived row of ``ChunkEmbedding``."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "fingerprint")
    chunk = TenantForeignKey(ArchivedChunk)

    class Meta:
        db_table = "ingestion_shelvedvector"


class ArchivedSentenceVector(SentenceVectorFields):
    """An archived row of ``SentenceVector``."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "start", "fingerprint")
    chunk = TenantForeignKey(ArchivedChunk)

    class Meta:
        db_table = "ingestion_shelvedsentencevector"


class ArchivedPosting(PostingFields):
    """An archived row of ``Posting``."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "term")
    chunk = TenantForeignKey(ArchivedChunk)

    class Meta:
        db_table = "ingestion_shelvedposting"
