"""Topics: the hierarchy of communities, their written reports, and who watches them."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from ingestion.models.documents import Chunk, Document
from ingestion.models.knowledge import Entity
from workspaces.models import Membership, TenantForeignKey, TenantModel, TenantPart, Workspace
from workspaces.models.people import TenantQuerySet

OTHER_TOPICS: Final = "Other topics"
SMALLEST_WRITTEN: Final = 5
"""Entities of the smallest topic that a chat model writes about. A smaller one has hardly more to
say than the sentences that its report quotes, and most topics are smaller."""


def other_topics_id(workspace_id: UUID) -> UUID:
    """Return the fixed id of the root community for everything too small for a topic."""
    return uuid5(workspace_id, "other topics")


class Community(TenantModel):
    """A group of entities that belong together. Level 0 is the root level.

    ``is_changed`` requests a new report. ``title`` says what sets it apart from its siblings; a
    report that a model wrote may carry another. ``titled_at`` is set where that takes long.
    """

    level = models.PositiveSmallIntegerField()
    parent = TenantForeignKey("self", null=True, related_name="children")
    size = models.PositiveIntegerField(help_text="Entities, those of sub-communities included.")
    is_changed = models.BooleanField(default=True)
    title = models.CharField(max_length=300, default="", db_default="", blank=True)
    titled_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "level", "-size"], name="community_by_level"),
            models.Index(fields=["workspace", "parent", "-size", "id"], name="community_children"),
        ]

    def __str__(self) -> str:
        return f"level {self.level}, {self.size} entities"


class CommunityMember(TenantPart):
    """An entity's membership in a community: one row for each level the entity is in."""

    pk = models.CompositePrimaryKey("workspace_id", "community_id", "entity_id")
    community = TenantForeignKey(Community, related_name="members")
    entity = TenantForeignKey(Entity, related_name="communities")

    class Meta:
        indexes = [models.Index(fields=["workspace", "entity"], name="member_entity")]

    def __str__(self) -> str:
        return f"{self.entity_id} in {self.community_id}"


class Clustering(models.Model):
    """How the communities divided the graph when all of it was last clustered.

    See ``ingestion.stages.communities.keeping.Figures``.
    """

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.DO_NOTHING, related_name="+"
    )
    entities = models.PositiveIntegerField()
    roots = models.FloatField()
    finest = models.FloatField()
    largest = models.PositiveIntegerField()
    beside = models.PositiveIntegerField()
    made_at = models.DateTimeField(auto_now=True)

    objects = TenantQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.entities} entities in {self.workspace_id}"


class EntityPosition(TenantPart):
    """Where an entity is drawn in pictures of the graph.

    One with ``is_approximate`` was placed beside its neighbours after the last whole layout.
    """

    pk = models.CompositePrimaryKey("workspace_id", "entity_id")
    entity = TenantForeignKey(Entity, related_name="positions")
    x = models.FloatField()
    y = models.FloatField()
    is_approximate = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.entity_id} at {self.x:.2f}, {self.y:.2f}"


class CommunityReport(TenantPart, TenantModel):
    """The report on a community. Each of its sentences is a row in ``findings``."""

    community = TenantForeignKey(Community, related_name="reports")
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
    questions = ArrayField(
        models.CharField(max_length=90),
        null=True,
        blank=True,
        help_text="What a model asks that it answers; null until one was asked.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "community"], name="report_once"),
        ]

    def __str__(self) -> str:
        return self.title


class Finding(TenantPart, TenantModel):
    """One statement of a report. The summary's sentences are findings too.

    ``references`` are the records a model cited for it, each of which exists: ``[{"kind": "entity"
    | "relationship" | "claim" | "report", "id": …}, …]``.
    """

    class Part(models.TextChoices):
        SUMMARY = "summary", "Summary"
        FINDING = "finding", "Finding"

    report = TenantForeignKey(CommunityReport, related_name="findings")
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


class FindingEvidence(TenantPart, TenantModel):
    """The span that supports a finding; offsets are into the document's text.

    ``report_id`` is the finding's: a question looks up the reports on hundreds of passages.
    """

    finding = TenantForeignKey(Finding, related_name="evidence")
    report_id = models.UUIDField()
    chunk = TenantForeignKey(Chunk)
    document = TenantForeignKey(Document)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "finding"], name="evidence_of_finding"),
            models.Index(
                fields=["workspace", "chunk"],
                include=["report_id"],
                name="finding_evidence_in_chunk",
            ),
            models.Index(fields=["workspace", "document"], name="finding_evidence_in_document"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start}:{self.end}]"


class TopicWatch(TenantModel):
    """A member's watch on a topic; it ends with the membership.

    Its workspace is the one that has the member; ``place`` is the one whose ``topic`` it is: the
    same, or the edition that the member reads. Neither column is a reference, since topics and
    editions come and go; ``ingestion.knowledge.watches`` finds where the topic's entities went.

    ``latest`` is the topic's state at ``visited_at``, when the member last opened it, ``seen`` the
    state at the end of the visit before (``ingestion.knowledge.topics.State``). ``names``
    are digests of its entities' names, which are the same in every edition. None of these holds
    text. ``signature`` is the database's digest of ``latest``: while it is the same, nothing has
    changed. ``mailed`` is the digest of the state that the last e-mail was about, and ``mailed_at``
    its time.
    """

    membership = TenantForeignKey(Membership)
    place = models.UUIDField()
    topic = models.UUIDField()
    names = ArrayField(models.CharField(max_length=32), default=list, blank=True)
    seen = models.JSONField(default=dict)
    seen_at = models.DateTimeField(default=timezone.now)
    latest = models.JSONField(default=dict)
    visited_at = models.DateTimeField(default=timezone.now)
    signature = models.CharField(max_length=32, default="", blank=True)
    moved_at = models.DateTimeField(null=True, blank=True)
    mails = models.BooleanField(default=True)
    mailed = models.CharField(max_length=32, default="", blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "membership", "topic"], name="topic_watch_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.membership_id} watches {self.topic}"


class SummaryNode(TenantModel):
    """A node of a summary tree: a document's, or the workspace's where ``document`` is null.

    ``layer`` 1 summarises leaves: the document's chunks, or the documents' roots. ``digest``
    identifies the node's input, so that an unchanged node is never rebuilt. ``sources`` are the
    spans an extractive summary consists of: ``[{"chunk", "start", "end"}, …]``. ``vector`` comes
    from the model that ``fingerprint`` names.
    """

    document = TenantForeignKey(Document, null=True)
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


class SummaryEdge(TenantPart, TenantModel):
    """A node's child: a chunk or another node. A child may have several parents.

    ``probability`` is how likely the child belongs to the cluster its parent summarises.
    """

    parent = TenantForeignKey(SummaryNode, related_name="children")
    node = TenantForeignKey(SummaryNode, null=True, related_name="parents")
    chunk = TenantForeignKey(Chunk, null=True)
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


class SummaryLayout(TenantModel):
    """How the leaves of a tree were clustered the last time (``ingestion.stages.tree.layout``).

    It outlives the tree while the document is in the trash. ``fingerprint`` names the model of the
    vectors. It holds no text.
    """

    document = TenantForeignKey(Document, null=True)
    fingerprint = models.CharField(max_length=80)
    layout = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "document"], nulls_distinct=False, name="summary_layout_once"
            ),
        ]

    def __str__(self) -> str:
        return str(self.document_id)


class SummaryTree(TenantModel):
    """The tree of one document with several chunks, or of the workspace where ``document`` is null.

    ``digest`` identifies the leaves and their vectors, ``writer`` the intended writer: while both
    are unchanged, the tree is left alone. ``failed`` counts summaries that were requested from a
    model but are extractive because it gave no usable answer.
    """

    document = TenantForeignKey(Document, null=True)
    root = TenantForeignKey(SummaryNode)
    digest = models.CharField(max_length=64)
    writer = models.CharField(max_length=160)
    fingerprint = models.CharField(max_length=80)
    layers = models.PositiveSmallIntegerField()
    nodes = models.PositiveIntegerField()
    failed = models.PositiveIntegerField(default=0)
    built_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "document"], name="summary_tree_once", nulls_distinct=False
            ),
        ]
        indexes = [models.Index(fields=["workspace", "root"], name="summary_tree_root")]

    def __str__(self) -> str:
        return f"{self.nodes} nodes of {self.document_id or 'all documents'}"
