"""Topics: the hierarchy of communities and their written reports."""

from __future__ import annotations

from django.db import models

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
    written_by = models.CharField(max_length=40, default="extractive")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "community"], name="report_once"),
        ]

    def __str__(self) -> str:
        return self.title


class Finding(TenantModel):
    """One statement of a report. The summary's own sentences are findings too."""

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
