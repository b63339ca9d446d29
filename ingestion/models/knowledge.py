"""What the documents say: entities, relationships, and the evidence for each.

Every fact records the chunk and the span it was found in. Offsets are characters of the document
version's text, so ``version.text[start:end]`` is the quote.
"""

from __future__ import annotations

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower

from ingestion.models.documents import Chunk, Document
from workspaces.models import TenantForeignKey, TenantModel, TenantPart

TERMS: Final = models.Q(type="concept", written_by="extractive", is_made=False, is_confirmed=False)
"""Entities that are noun phrases or unknown names, and that no one made or confirmed and no model
described."""
LISTED: Final = ~TERMS | models.Q(chunk_count__gt=1) | models.Q(in_heading=True)
"""Entities without terms that occur in a single passage and in no heading."""


class Entity(TenantModel):
    """A person or thing the documents mention.

    ``key`` is the normalised name; ``sense`` distinguishes homonyms (0 until someone splits them).
    ``description`` is made from ``description_sources``: ``[{"chunk", "start", "end"}, …]``.
    ``conflicts`` are statements that cannot both hold: ``[{"reason", "statements": [{"text",
    "chunk", "start", "end"}, …]}, …]``. ``is_changed`` asks the workspace stages to describe and
    project the entity again.

    People's decisions take precedence: an entity with ``is_made``, created by a person, needs no
    mention; the wording of one with ``is_protected`` does not change with the documents;
    ``proposed`` holds the name, type and description the documents would give it where people chose
    others.

    ``in_heading`` is whether a heading above its only passage names it; with more passages, it is
    false. ``is_leaving``: it was merged into another entity or deleted, and a worker still moves
    what documents say of it (``NameChange``).
    """

    key = models.CharField(max_length=300)
    sense = models.PositiveSmallIntegerField(default=0)
    name = models.CharField(max_length=300)
    type = models.CharField(max_length=40)
    description = models.TextField(blank=True)
    description_sources = models.JSONField(default=list, blank=True)
    written_by = models.CharField(max_length=120, default="extractive", db_default="extractive")
    conflicts = models.JSONField(default=list, db_default=[], blank=True)
    mention_count = models.PositiveIntegerField(default=0)
    chunk_count = models.PositiveIntegerField(default=0)
    in_heading = models.BooleanField(default=False, db_default=False)
    degree = models.PositiveIntegerField(default=0)
    rank = models.FloatField(default=0)
    is_changed = models.BooleanField(default=True)
    is_leaving = models.BooleanField(default=False, db_default=False)
    is_made = models.BooleanField(default=False, db_default=False)
    is_protected = models.BooleanField(default=False, db_default=False)
    is_confirmed = models.BooleanField(default=False, db_default=False)
    proposed = models.JSONField(default=dict, db_default={}, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "key", "sense"], include=["id"], name="entity_key_once"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "-mention_count"], name="entity_most_mentioned"),
            # Lists of entities in their orders (``ingestion.knowledge.queries.ORDERS``).
            models.Index(
                fields=["workspace", "-mention_count", "name"],
                include=["type"],
                condition=~TERMS,
                name="entity_listed",
            ),
            models.Index("workspace", Lower("name"), condition=~TERMS, name="entity_by_name"),
            models.Index(
                fields=["workspace"], condition=models.Q(is_leaving=True), name="entity_leaving"
            ),
            # Texts within names are sought in the index alone; the most telling of a topic.
            models.Index(fields=["workspace", "name", "id"], name="entity_names"),
            models.Index(fields=["workspace", "-rank", "-mention_count"], name="entity_by_rank"),
            models.Index(
                fields=["workspace", "-degree"], condition=~TERMS, name="entity_most_linked"
            ),
            models.Index(
                fields=["workspace", "-created_at"], condition=~TERMS, name="entity_newest"
            ),
            models.Index(
                fields=["workspace", "type", "-mention_count", "name"],
                condition=LISTED,
                name="entity_of_type",
            ),
            models.Index(
                fields=["workspace"], condition=models.Q(is_changed=True), name="entity_changed"
            ),
            models.Index(
                fields=["workspace"], condition=models.Q(is_made=True), name="entity_made"
            ),
            models.Index(
                fields=["workspace"],
                condition=~models.Q(proposed={})
                | models.Q(is_protected=True)
                | models.Q(is_confirmed=True),
                name="entity_edited",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Alias(TenantPart, TenantModel):
    """A name of an entity."""

    entity = TenantForeignKey(Entity, related_name="aliases")
    key = models.CharField(max_length=300)
    name = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "key", "name", "entity"], name="alias_once"
            ),
        ]
        indexes = [models.Index(fields=["workspace", "entity"], name="alias_of_entity")]

    def __str__(self) -> str:
        return self.name


class Mention(TenantPart, TenantModel):
    """One place where a document names an entity.

    ``key`` is the name it is read as before any decision; ``own_key`` is the key of ``label``, its
    own name: "Scrooge" is read as "ebenezer scrooge" where only one full name fits.
    """

    entity = TenantForeignKey(Entity, related_name="mentions")
    chunk = TenantForeignKey(Chunk, related_name="mentions")
    document = TenantForeignKey(Document)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    surface = models.CharField(max_length=300)
    type = models.CharField(max_length=40)
    source = models.CharField(max_length=20, help_text="What found it: ner, propn, title, …")
    key = models.CharField(max_length=300, default="", db_default="", blank=True)
    own_key = models.CharField(max_length=300, default="", db_default="", blank=True)
    label = models.CharField(max_length=300, default="", db_default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "chunk", "start", "end", "entity"], name="mention_once"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "entity", "document"], name="mention_of_entity"),
            models.Index(fields=["workspace", "document"], name="mention_in_document"),
        ]

    def __str__(self) -> str:
        return self.surface


class Relationship(TenantPart, TenantModel):
    """A directed relationship between two entities, supported by evidence or asserted by a person.

    ``is_made`` and ``proposed`` are as for an entity.
    """

    source = TenantForeignKey(Entity, related_name="outgoing")
    target = TenantForeignKey(Entity, related_name="incoming")
    description = models.TextField(blank=True)
    keywords = ArrayField(models.CharField(max_length=80), default=list, blank=True)
    weight = models.FloatField(default=0)
    evidence_count = models.PositiveIntegerField(default=0)
    written_by = models.CharField(max_length=120, default="extractive", db_default="extractive")
    conflicts = models.JSONField(default=list, db_default=[], blank=True)
    is_changed = models.BooleanField(default=True)
    is_made = models.BooleanField(default=False, db_default=False)
    proposed = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "source", "target"], name="relationship_once"
            ),
            models.CheckConstraint(
                condition=~models.Q(source=models.F("target")), name="relationship_no_loop"
            ),
        ]
        indexes = [
            # The facts of an entity, the strongest first, from either side.
            models.Index(
                fields=["workspace", "source", "-weight", "id"],
                include=["target"],
                name="relationship_strongest",
            ),
            models.Index(
                fields=["workspace", "target", "-weight", "id"],
                include=["source"],
                name="relationship_incoming",
            ),
            models.Index(
                fields=["workspace"],
                condition=~models.Q(conflicts=[]),
                name="relationship_disputed",
            ),
            models.Index(
                fields=["workspace"],
                condition=models.Q(is_changed=True),
                name="relationship_changed",
            ),
            models.Index(
                fields=["workspace"], condition=models.Q(is_made=True), name="relationship_made"
            ),
            models.Index(
                fields=["workspace"], condition=~models.Q(proposed={}), name="relationship_edited"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} → {self.target_id}"


class Evidence(TenantPart, TenantModel):
    """The sentence that supports a relationship, and when it says that the fact holds.

    ``period_start`` and ``period_end`` are ISO 8601 dates of the precision the text has, '' where
    it says nothing: both empty is undated, one empty is open. ``period_quote_start`` and
    ``period_quote_end`` are the words they rest on, counted from the chunk's start.
    """

    class Kind(models.TextChoices):
        STATED = "stated", "Stated in the sentence"
        TOGETHER = "together", "Named together"

    relationship = TenantForeignKey(Relationship, related_name="evidence")
    chunk = TenantForeignKey(Chunk)
    document = TenantForeignKey(Document)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    predicate = models.CharField(max_length=120, blank=True)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    strength = models.FloatField(default=1)
    description = models.TextField(
        blank=True, db_default="", help_text="What a model said of the link."
    )
    keywords = ArrayField(models.CharField(max_length=80), default=list, db_default=[], blank=True)
    period_start = models.CharField(max_length=25, blank=True, default="", db_default="")
    period_end = models.CharField(max_length=25, blank=True, default="", db_default="")
    period_quote_start = models.PositiveIntegerField(null=True, blank=True)
    period_quote_end = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "relationship", "chunk", "start", "predicate"],
                include=["strength", "kind", "document", "end"],
                name="evidence_once",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "chunk"], name="evidence_in_chunk"),
            models.Index(fields=["workspace", "document"], name="evidence_in_document"),
        ]

    def __str__(self) -> str:
        return self.predicate


class Fragment(TenantPart, TenantModel):
    """What a model says of an entity based on one passage; the span is the quote.

    Fragments are the input to an entity's summarised description.
    """

    entity = TenantForeignKey(Entity, related_name="fragments")
    chunk = TenantForeignKey(Chunk)
    document = TenantForeignKey(Document)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "entity"], name="fragment_of_entity"),
            models.Index(fields=["workspace", "document"], name="fragment_in_document"),
            models.Index(fields=["workspace", "chunk"], name="fragment_in_chunk"),
        ]

    def __str__(self) -> str:
        return self.text[:60]


class Claim(TenantPart, TenantModel):
    """A statement that a passage asserts or denies, with its status and period.

    ``period_start`` and ``period_end`` are ISO 8601 dates of any precision, '' where not given.
    ``proposed`` holds what the document gives for the fields that a person has overridden.
    """

    class Status(models.TextChoices):
        TRUE = "true", "Held true"
        FALSE = "false", "Held false"
        SUSPECTED = "suspected", "Suspected"

    subject = TenantForeignKey(Entity, related_name="claims")
    object = TenantForeignKey(Entity, null=True)
    chunk = TenantForeignKey(Chunk)
    document = TenantForeignKey(Document)
    type = models.CharField(max_length=80)
    status = models.CharField(max_length=10, choices=Status.choices)
    period_start = models.CharField(max_length=25, blank=True)
    period_end = models.CharField(max_length=25, blank=True)
    description = models.TextField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    proposed = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "subject"], name="claim_of_subject"),
            models.Index(
                fields=["workspace", "object"],
                condition=models.Q(object__isnull=False),
                name="claim_of_object",
            ),
            models.Index(fields=["workspace", "document"], name="claim_in_document"),
            models.Index(fields=["workspace", "chunk"], name="claim_in_chunk"),
        ]

    def __str__(self) -> str:
        return self.description[:60]


class GraphTombstone(TenantModel):
    """The id of a deleted entity or relationship that must leave the projection too."""

    class Meta:
        constraints = []

    def __str__(self) -> str:
        return str(self.pk)


class WalkSnapshot(TenantModel):
    """The sparse matrix of the walk, as one versioned blob per workspace.

    ``payload`` is the output of ``kb_project.graph.walk_index.WalkIndex.to_bytes``.
    """

    number = models.PositiveIntegerField()
    chunks = models.PositiveIntegerField()
    entities = models.PositiveIntegerField()
    seconds = models.FloatField(help_text="What building it took; sets how often it is renewed.")
    payload = models.BinaryField()
    built_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "number"], name="snapshot_number_once"),
        ]

    def __str__(self) -> str:
        return f"{self.workspace_id} snapshot {self.number}"
