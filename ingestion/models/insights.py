"""What the structure of the graph says: who stands out in topics, and what joins or stands alone.

Every refresh that finds another graph than the last one replaces these rows
(``ingestion/stages/structure``).
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ingestion.models.communities import Community
from ingestion.models.documents import Document
from ingestion.models.knowledge import Entity
from workspaces.models import TenantForeignKey, TenantModel, TenantPart


class TopicStanding(TenantPart):
    """An entity that stands out in a topic; ``place`` is 1 for the first of its kind.

    The ``facts`` connect it with members of the topic. ``CENTRAL`` counts all of them, and the
    passages and documents behind them; ``DOCUMENTED`` counts only what a sentence states.
    """

    class Kind(models.TextChoices):
        CENTRAL = "central", "Most central"
        DOCUMENTED = "documented", "Most is said about"

    pk = models.CompositePrimaryKey("workspace_id", "community_id", "kind", "entity_id")
    community = TenantForeignKey(Community, related_name="standings")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    entity = TenantForeignKey(Entity, related_name="standings")
    place = models.PositiveIntegerField()
    facts = models.PositiveIntegerField()
    passages = models.PositiveIntegerField()
    documents = models.PositiveIntegerField()

    class Meta:
        indexes = [models.Index(fields=["workspace", "entity"], name="standing_of_entity")]

    def __str__(self) -> str:
        return f"{self.kind} {self.place}: {self.entity_id} in {self.community_id}"


class TopicBridge(TenantPart):
    """An entity of ``community`` with a large share of what connects it with ``other``.

    It is part of ``facts`` of the ``of_facts`` facts between members of the two topics.
    """

    pk = models.CompositePrimaryKey("workspace_id", "entity_id", "other_id")
    entity = TenantForeignKey(Entity, related_name="bridges")
    community = TenantForeignKey(Community, related_name="bridges")
    other = TenantForeignKey(Community, related_name="bridges_from")
    facts = models.PositiveIntegerField()
    of_facts = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "community"], name="bridge_from_topic"),
            models.Index(fields=["workspace", "other"], name="bridge_to_topic"),
        ]

    def __str__(self) -> str:
        return f"{self.entity_id} joins {self.community_id} and {self.other_id}"


class LoneDocument(TenantPart):
    """A document that mentions nothing any other document mentions; ``names`` counts entities."""

    pk = models.CompositePrimaryKey("workspace_id", "document_id")
    document = TenantForeignKey(Document, related_name="alone")
    names = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.document_id} stands alone"


class StructureState(TenantModel):
    """The graph that a workspace's rows of this module were computed from, by its ``digest``.

    ``topics`` have changed since.
    """

    digest = models.CharField(max_length=64)
    topics = ArrayField(models.UUIDField(), default=list)
    seconds = models.FloatField()
    computed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace"], name="structure_state_once"),
        ]

    def __str__(self) -> str:
        return self.digest
