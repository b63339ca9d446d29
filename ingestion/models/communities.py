"""Topics: the hierarchy of communities and their written reports."""

from __future__ import annotations

from django.db import models
from pgvector.django import HalfVectorField

from ingestion.models.documents import Chunk, Document
from ingestion.models.knowledge import Entity
from workspaces.models import TenantModel, Workspace
from workspaces.querysets import TenantQuerySet


class Community(TenantModel):
    """A group of entities that belong together. Level 0 is the root level.

    ``is_changed`` asks for a new report.
    """

    level = models.PositiveSmallIntegerField()
    parent = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="children",
        db_index=False,
    )
    size = models.PositiveIntegerField(help_text="Entities, those of sub-communities included.")
    is_changed = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "level", "-size"], name="community_by_level"),
            models.Index(fields=["workspace", "parent"], name="community_children"),
        ]

    def __str__(self) -> str:
        return f"level {self.level}, {self.size} entities"


class CommunityMember(models.Model):
    """An entity in a community: one row at every level the entity is in."""

    pk = models.CompositePrimaryKey("workspace_id", "community_id", "entity_id")
    workspace = models.ForeignKey(
        Workspace, on_delete=models.DO_NOTHING, related_name="+", db_index=False
    )
    community = models.ForeignKey(
        Community,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="members",
        db_index=False,
    )
    entity = models.ForeignKey(
        Entity,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="communities",
        db_index=False,
    )

    objects = TenantQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["workspace", "entity"], name="member_entity")]

    def __str__(self) -> str:
        return f"{self.entity_id} in {self.community_id}"


class CommunityReport(TenantModel):
    """What is to be said of a community, each sentence of it in ``findings``."""

    community = models.ForeignKey(
        Community,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="reports",
        db_index=False,
    )
    title = models.CharField(max_length=300)
    summary = models.TextField()
    rating = models.FloatField(help_text="0 to 10.")
    rating_reason = models.TextField(blank=True)
    written_by = models.CharField(max_length=120, default="extractive")
    problem = models.JSONField(null=True, blank=True, help_text="Why no model wrote it.")
    substituted = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Sub-communities that spoke through their report."
    )
    rejected = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="What of the model's report was not kept, counted by reason.",
    )
    digest = models.CharField(
        max_length=64, default="", db_default="", blank=True, help_text="Of what it was made from."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "community"], name="report_once"),
        ]

    def __str__(self) -> str:
        return self.title


class Finding(TenantModel):
    """One statement of a report. The summary's own sentences are findings too.

    ``references`` are the records a model gave for it, each of which exists:
    ``[{"kind": "entity" | "relationship" | "claim" | "report", "id": …}, …]``.
    """

    class Part(models.TextChoices):
        SUMMARY = "summary", "Summary"
        FINDING = "finding", "Finding"

    report = models.ForeignKey(
        CommunityReport,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="findings",
        db_index=False,
    )
    part = models.CharField(max_length=10, choices=Part.choices)
    ordinal = models.PositiveSmallIntegerField()
    summary = models.TextField()
    explanation = models.TextField(blank=True)
    references = models.JSONField(default=list, db_default=[], blank=True)

    class Meta:
        ordering = ["ordinal"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "report", "part", "ordinal"], name="finding_once"
            ),
        ]

    def __str__(self) -> str:
        return self.summary[:60]


class FindingEvidence(TenantModel):
    """The span a finding rests on; offsets in the document's text."""

    finding = models.ForeignKey(
        Finding,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="evidence",
        db_index=False,
    )
    chunk = models.ForeignKey(
        Chunk, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "finding"], name="evidence_of_finding"),
            models.Index(fields=["workspace", "chunk"], name="finding_evidence_in_chunk"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start}:{self.end}]"


class SummaryNode(TenantModel):
    """A node of a summary tree: of one document, or with no ``document`` of all of them.

    ``layer`` 1 summarises leaves: the document's chunks, or the documents' roots. ``digest`` names
    what it was made of, so that an unchanged node is never made twice. ``sources`` are the spans an
    extractive summary is made of: ``[{"chunk", "start", "end"}, …]``. ``vector`` is of the model
    that ``fingerprint`` names.
    """

    document = models.ForeignKey(
        Document,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    layer = models.PositiveSmallIntegerField()
    digest = models.CharField(max_length=64)
    text = models.TextField()
    tokens = models.PositiveIntegerField()
    sources = models.JSONField(default=list, blank=True)
    written_by = models.CharField(max_length=120, default="extractive")
    fingerprint = models.CharField(max_length=80)
    vector = HalfVectorField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "document", "layer"], name="summary_node_layer"),
        ]

    def __str__(self) -> str:
        return self.text[:60]


class SummaryEdge(TenantModel):
    """A node's child: a chunk or another node. A child may have several parents.

    ``probability`` is how surely the child belongs to the cluster its parent summarises.
    """

    parent = models.ForeignKey(
        SummaryNode,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="children",
        db_index=False,
    )
    node = models.ForeignKey(
        SummaryNode,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="parents",
        db_index=False,
    )
    chunk = models.ForeignKey(
        Chunk,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    probability = models.FloatField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(node__isnull=False) | models.Q(chunk__isnull=False),
                name="summary_edge_has_child",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "parent"], name="summary_edge_parent"),
            models.Index(fields=["workspace", "node"], name="summary_edge_node"),
            models.Index(fields=["workspace", "chunk"], name="summary_edge_chunk"),
        ]

    def __str__(self) -> str:
        return str(self.parent_id)
