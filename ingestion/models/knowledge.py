"""What the documents speak of: entities, relationships, and the evidence each rests on.

Every fact knows the chunk and the span it was found in. Offsets are characters of the
document version's text, so ``version.text[start:end]`` is the quote.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ingestion.models.documents import Chunk, Document
from workspaces.models import TenantModel


class Entity(TenantModel):
    """Someone or something the documents speak of.

    ``key`` is the normalised name; ``sense`` tells homonyms apart (0 until somebody splits them).
    ``description`` is made of ``description_sources``: ``[{"chunk", "start", "end"}, …]``.
    ``conflicts`` are statements that cannot both hold: ``[{"reason", "statements": [{"text",
    "chunk", "start", "end"}, …]}, …]``.
    ``is_changed`` asks the workspace stages to describe and project the entity anew.
    What a person said of it stands: ``is_made`` by a person, it needs no mention; ``is_protected``,
    nothing a document brings changes its wording; ``proposed`` is what its name, type and
    description would be by the documents where people say otherwise.
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
    degree = models.PositiveIntegerField(default=0)
    rank = models.FloatField(default=0)
    is_changed = models.BooleanField(default=True)
    is_made = models.BooleanField(default=False, db_default=False)
    is_protected = models.BooleanField(default=False, db_default=False)
    is_confirmed = models.BooleanField(default=False, db_default=False)
    proposed = models.JSONField(default=dict, db_default={}, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key", "sense"], name="entity_key_once"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-mention_count"], name="entity_most_mentioned"),
            models.Index(
                fields=["workspace"], condition=models.Q(is_changed=True), name="entity_changed"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Alias(TenantModel):
    """A name an entity goes by."""

    entity = models.ForeignKey(
        Entity,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="aliases",
        db_index=False,
    )
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


class Mention(TenantModel):
    """One place where a document names an entity.

    ``key`` is the name it is read as before anything was decided, ``own_key`` that of ``label``,
    the name it is given itself: "Scrooge" is read as "ebenezer scrooge" where one full name fits.
    """

    entity = models.ForeignKey(
        Entity,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="mentions",
        db_index=False,
    )
    chunk = models.ForeignKey(
        Chunk,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="mentions",
        db_index=False,
    )
    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
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
            models.Index(fields=["workspace", "entity"], name="mention_of_entity"),
            models.Index(fields=["workspace", "document"], name="mention_in_document"),
        ]

    def __str__(self) -> str:
        return self.surface


class Relationship(TenantModel):
    """A directed link between two entities, resting on evidence or on a person's word.

    ``is_made`` and ``proposed`` are as an entity's.
    """

    source = models.ForeignKey(
        Entity,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="outgoing",
        db_index=False,
    )
    target = models.ForeignKey(
        Entity,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="incoming",
        db_index=False,
    )
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
            models.Index(fields=["workspace", "target"], name="relationship_incoming"),
            models.Index(
                fields=["workspace"],
                condition=models.Q(is_changed=True),
                name="relationship_changed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} → {self.target_id}"


class Evidence(TenantModel):
    """The sentence a relationship rests on."""

    class Kind(models.TextChoices):
        STATED = "stated", "Stated in the sentence"
        TOGETHER = "together", "Named together"

    relationship = models.ForeignKey(
        Relationship,
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
    predicate = models.CharField(max_length=120, blank=True)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    strength = models.FloatField(default=1)
    description = models.TextField(
        blank=True, db_default="", help_text="What a model said of the link."
    )
    keywords = ArrayField(models.CharField(max_length=80), default=list, db_default=[], blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "relationship", "chunk", "start", "predicate"],
                name="evidence_once",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "chunk"], name="evidence_in_chunk"),
            models.Index(fields=["workspace", "document"], name="evidence_in_document"),
        ]

    def __str__(self) -> str:
        return self.predicate


class Fragment(TenantModel):
    """What a model says of an entity by one passage; the quote is the span.

    Fragments are what an entity's description is summarised from.
    """

    entity = models.ForeignKey(
        Entity,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="fragments",
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
    text = models.TextField()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "entity"], name="fragment_of_entity"),
            models.Index(fields=["workspace", "document"], name="fragment_in_document"),
            models.Index(fields=["workspace", "chunk"], name="fragment_in_chunk"),
        ]

    def __str__(self) -> str:
        return self.text[:60]


class Claim(TenantModel):
    """What a passage holds to be so, or not so: a statement with its status and period.

    ``period_start`` and ``period_end`` are ISO 8601 dates of any precision, '' where unsaid.
    """

    class Status(models.TextChoices):
        TRUE = "true", "Held true"
        FALSE = "false", "Held false"
        SUSPECTED = "suspected", "Suspected"

    subject = models.ForeignKey(
        Entity,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="claims",
        db_index=False,
    )
    object = models.ForeignKey(
        Entity,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    chunk = models.ForeignKey(
        Chunk, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    type = models.CharField(max_length=80)
    status = models.CharField(max_length=10, choices=Status.choices)
    period_start = models.CharField(max_length=25, blank=True)
    period_end = models.CharField(max_length=25, blank=True)
    description = models.TextField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "subject"], name="claim_of_subject"),
            models.Index(fields=["workspace", "document"], name="claim_in_document"),
            models.Index(fields=["workspace", "chunk"], name="claim_in_chunk"),
        ]

    def __str__(self) -> str:
        return self.description[:60]


class GraphTombstone(TenantModel):
    """The id of an entity or relationship that is gone and must leave the projection too."""

    class Meta:
        constraints = []

    def __str__(self) -> str:
        return str(self.pk)


class WalkSnapshot(TenantModel):
    """The sparse matrix of the walk, as one versioned blob per workspace.

    ``payload`` is what ``kb_project.graph.walk_index.WalkIndex.to_bytes`` writes.
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
