"""The REST operations on entities: view, create, edit, merge, split, delete."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.response import Response

from ingestion.curation import entities, merging, queries, splitting
from ingestion.curation.history_api import (
    DecisionSerializer,
    EventSerializer,
    curated,
    curation,
    curation_of_one,
    event_answer,
)
from ingestion.curation.splitting import Selection
from ingestion.curation.validation import DESCRIPTION_LENGTH, TYPE_LENGTH
from ingestion.documents.api.documents import ChangeSerializer
from ingestion.history.api import ExpectedField, ReasonSerializer, change_of, correcting, tags_of
from ingestion.knowledge import insights, queries as knowledge_queries
from ingestion.knowledge.spans import BridgeSerializer, OtherEntitySerializer, SourceSpanSerializer
from ingestion.models import Claim
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading
from workspaces.models import Workspace

MOST_SELECTED: Final = 1000
# The services check length and content, and say what to do about it.
TEXT: Final[dict[str, Any]] = {"required": False, "allow_blank": True, "trim_whitespace": False}


def _ids(**more: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.UUIDField(), max_length=MOST_SELECTED, **more)


def _texts(**more: Any) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(allow_blank=True), max_length=MOST_SELECTED, **more
    )


class EntitySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    name = serializers.CharField()
    type = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    written_by = serializers.CharField(
        help_text="'extractive' for quoted sentences, 'joined' for a model's notes on single"
        " passages, 'person', or the name of the model that wrote the summary."
    )
    mentions = serializers.IntegerField(source="mention_count")
    chunks = serializers.IntegerField(source="chunk_count")
    degree = serializers.IntegerField(help_text="Number of neighbours in the graph.")
    rank = serializers.FloatField()
    is_made = serializers.BooleanField(help_text="Created by a person; needs no document.")
    is_protected = serializers.BooleanField(help_text="Documents do not change its wording.")
    is_confirmed = serializers.BooleanField()
    proposed = serializers.DictField(
        help_text="The documents' values for the fields that a person has overridden."
    )


class EntityListApi(WorkspaceAPIView):
    """The entities of a workspace."""

    class QuerySerializer(PageInput):
        q = serializers.CharField(
            required=False, default="", help_text="Text to find in names or aliases."
        )
        type = serializers.CharField(required=False, default="")
        topic = serializers.UUIDField(
            required=False, default=None, help_text="Only members of this topic."
        )
        document = serializers.UUIDField(
            required=False, default=None, help_text="Only entities that this document mentions."
        )
        certainty = serializers.ChoiceField(
            choices=knowledge_queries.Certainty.choices, required=False, default=""
        )
        order = serializers.ChoiceField(
            choices=knowledge_queries.EntityOrder.choices, required=False, default="mentions"
        )

    class OutputSerializer(PageOutput):
        results = EntitySerializer(many=True)

    @extend_schema_serializer(component_name="CuratedEntityListInput")
    class InputSerializer(ReasonSerializer):
        name = serializers.CharField(allow_blank=True, trim_whitespace=False)
        type = serializers.CharField(
            allow_blank=True, help_text=f"At most {TYPE_LENGTH} characters."
        )
        description = serializers.CharField(
            **TEXT, default="", help_text=f"At most {DESCRIPTION_LENGTH:,} characters."
        )
        aliases = _texts(required=False, default=list)

    @reading("entity_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List entities, most mentioned first unless ordered otherwise."""
        wanted = self.query()
        found = knowledge_queries.entities(
            workspace=self.workspace,
            text=wanted["q"],
            type_name=wanted["type"],
            **{name: wanted[name] for name in ("topic", "document", "certainty", "order")},
        )
        page = page_of(found, page=wanted["page"], page_size=wanted["page_size"])
        return page.of(page.results)

    @curation("entity_create", takes=InputSerializer, status=201)
    def post(self) -> object:
        """Create an entity that needs no document. Its id is in the event's 'entity'."""
        return curated(self, entities.entity_create)


class FactPeriodSerializer(serializers.Serializer[Any]):
    """When a fact holds: ISO 8601 dates of the text's precision; an open end is empty."""

    start = serializers.CharField(allow_blank=True)
    end = serializers.CharField(allow_blank=True)
    words = serializers.CharField(help_text="The words it rests on.")
    passage = SourceSpanSerializer(source="source", help_text="The sentence that says so.")


class ReplacementSerializer(serializers.Serializer[Any]):
    """What a later statement gives instead of a fact."""

    by = OtherEntitySerializer()
    relationship = serializers.UUIDField(source="relationship_id")
    since = serializers.CharField()


class FactSerializer(serializers.Serializer[Any]):
    relationship = serializers.UUIDField(source="relationship.pk")
    predicate = serializers.CharField(allow_blank=True)
    is_outgoing = serializers.BooleanField(
        help_text="Whether the relationship goes from this entity to the other one."
    )
    other = OtherEntitySerializer()
    description = serializers.CharField(source="relationship.description", allow_blank=True)
    weight = serializers.FloatField(source="relationship.weight")
    evidence = serializers.IntegerField(source="relationship.evidence_count")
    sources = SourceSpanSerializer(many=True)
    period = FactPeriodSerializer(allow_null=True)
    replaced = ReplacementSerializer(
        allow_null=True, help_text="Null unless a later statement replaces it."
    )


class NamingDocumentSerializer(serializers.Serializer[Any]):
    document = serializers.UUIDField(source="pk")
    title = serializers.CharField()
    mentions = serializers.IntegerField()


class EntityTopicSerializer(serializers.Serializer[Any]):
    community = serializers.UUIDField(source="community_id")
    level = serializers.IntegerField(source="community.level")
    title = serializers.CharField()


class ClaimSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="claim.pk")
    type = serializers.CharField(source="claim.type")
    status = serializers.ChoiceField(source="claim.status", choices=Claim.Status.choices)
    description = serializers.CharField(source="claim.description")
    period_start = serializers.CharField(source="claim.period_start", allow_blank=True)
    period_end = serializers.CharField(source="claim.period_end", allow_blank=True)
    proposed = serializers.DictField(
        source="claim.proposed",
        help_text="The document's values for the fields that a person has overridden.",
    )
    other = OtherEntitySerializer(allow_null=True)
    source = SourceSpanSerializer()  # type: ignore[assignment]  # the API's word for it


class StatementSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    source = SourceSpanSerializer()  # type: ignore[assignment]  # the API's word for it


class ConflictSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField()
    statements = StatementSerializer(many=True)


class LookAlikeSerializer(serializers.Serializer[Any]):
    other = OtherEntitySerializer()
    reason = serializers.CharField()


class EntityApi(WorkspaceAPIView):
    """One entity with everything known about it."""

    class OutputSerializer(EntitySerializer):
        aliases = serializers.ListField(child=serializers.CharField())
        sources = SourceSpanSerializer(many=True, help_text="Sources of the description.")
        facts = FactSerializer(many=True, help_text="The strongest; 'facts/' lists all of them.")
        facts_total = serializers.IntegerField()
        documents = NamingDocumentSerializer(
            many=True,
            help_text=f"Up to {knowledge_queries.MOST_DOCUMENTS}, most mentions first.",
        )
        documents_total = serializers.IntegerField()
        topics = EntityTopicSerializer(many=True)
        claims = ClaimSerializer(many=True, help_text="The first; 'claims/' lists all of them.")
        claims_total = serializers.IntegerField()
        conflicts = ConflictSerializer(many=True, help_text="Contradictory statements.")
        decisions = DecisionSerializer(many=True, help_text="Decisions about its names.")
        look_alikes = LookAlikeSerializer(many=True, help_text="Entities that may be the same.")
        namesakes = OtherEntitySerializer(many=True, help_text="Other entities with this name.")
        central_in = serializers.UUIDField(
            allow_null=True, help_text="The broadest topic that it is among the most central of."
        )
        bridges = BridgeSerializer(many=True, help_text="Topics that it joins.")
        change = ChangeSerializer(
            allow_null=True, help_text="A change to it that a worker still applies."
        )

    @extend_schema_serializer(component_name="CuratedEntityInput")
    class InputSerializer(ReasonSerializer):
        name = serializers.CharField(**TEXT)
        type = serializers.CharField(**TEXT)
        description = serializers.CharField(**TEXT)
        add_aliases = _texts(required=False)
        remove_aliases = _texts(required=False)
        is_protected = serializers.BooleanField(
            required=False, help_text="Keep documents from changing its wording."
        )
        is_confirmed = serializers.BooleanField(required=False)

    @reading("entity", gives=OutputSerializer)
    def get(self, entity_id: UUID) -> object:
        """View an entity: its names, its facts, and the passages that support them."""
        view = knowledge_queries.entity_view(workspace=self.workspace, entity_id=entity_id)
        body = EntitySerializer(view.entity).data | _known(self.workspace, view)
        return Response(body, headers=tags_of(self.workspace, entity_id))

    @curation_of_one("entity_edit", takes=InputSerializer)
    def patch(self, entity_id: UUID) -> object:
        """Set an entity's name, type, description and aliases, overriding the documents."""
        return curated(self, entities.entity_edit, seen=entity_id, entity=entity_id)

    @curation_of_one("entity_delete")
    def delete(self, entity_id: UUID) -> object:
        """Delete an entity, even if later documents mention it. This can be undone."""
        return curated(self, entities.entity_delete, seen=entity_id, entity=entity_id)


def _known(workspace: Workspace, view: knowledge_queries.EntityView) -> dict[str, Any]:
    documents = [
        {"pk": document.pk, "title": document.title, "mentions": mentions}
        for document, mentions in view.documents
    ]
    central = knowledge_queries.central_in(workspace, view.entity)
    joined = insights.entity_bridges(workspace=workspace, entity=view.entity)
    change = queries.change_work(workspace=workspace, entity=view.entity)
    return {
        "aliases": list(view.aliases),
        "sources": SourceSpanSerializer(view.description, many=True).data,
        "facts": FactSerializer(view.facts, many=True).data,
        "facts_total": view.facts_total,
        "documents": NamingDocumentSerializer(documents, many=True).data,
        "documents_total": view.documents_total,
        "topics": EntityTopicSerializer(view.topics, many=True).data,
        "claims": ClaimSerializer(view.claims, many=True).data,
        "claims_total": view.claims_total,
        "conflicts": ConflictSerializer(view.conflicts, many=True).data,
        "decisions": DecisionSerializer(view.decisions, many=True).data,
        "look_alikes": LookAlikeSerializer(view.look_alikes, many=True).data,
        "namesakes": OtherEntitySerializer(view.namesakes, many=True).data,
        "central_in": central.community_id if central else None,
        "bridges": BridgeSerializer(joined, many=True).data,
        "change": ChangeSerializer(change).data if change else None,
    }


class EntityMergeApi(WorkspaceAPIView):
    """Merge entities that are the same."""

    class InputSerializer(ReasonSerializer):
        kept = serializers.UUIDField(help_text="The entity to keep, with its id and name.")
        others = _ids(
            help_text="The entities to merge into it;"
            f" at most {merging.MOST} entities including the one kept."
        )
        name = serializers.CharField(**TEXT, help_text="A new name for the entity kept.")
        expected = ExpectedField()

    @curation("entity_merge", takes=InputSerializer)
    def post(self) -> object:
        """Merge entities into one of them, with all their evidence."""
        return curated(self, merging.entities_merge)


class EntityDifferApi(WorkspaceAPIView):
    """Mark entities as not the same."""

    class InputSerializer(ReasonSerializer):
        entities = _ids()
        expected = ExpectedField()

    @correcting("entity_differ", takes=InputSerializer, gives=EventSerializer)
    def post(self) -> object:
        """Record that no two of these entities are the same, so that they are never merged
        automatically.
        """
        change, wanted = change_of(self)
        return event_answer(self, merging.entities_differ(change=change, **wanted))


class SelectionSerializer(ReasonSerializer):
    """The mentions to move: those that match any of these filters."""

    documents = _ids(required=False, default=list)
    chunks = _ids(required=False, default=list, help_text="Ids of passages.")
    aliases = _texts(required=False, default=list, help_text="Names as written in the documents.")
    mentions = _ids(required=False, default=list)

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        parts = {name: tuple(values.pop(name)) for name in Selection.__slots__}
        return values | {"selection": Selection(**parts)}


class EntitySplitApi(WorkspaceAPIView):
    """Split mentions off an entity."""

    class InputSerializer(SelectionSerializer):
        name = serializers.CharField(allow_blank=True, trim_whitespace=False)
        type = serializers.CharField(**TEXT)

    @curation_of_one("entity_split", takes=InputSerializer)
    def post(self, entity_id: UUID) -> object:
        """Move some mentions to a new entity. Its id is in the event's 'entity'."""
        return curated(self, splitting.entity_split, seen=entity_id, entity=entity_id)


class EntityMoveApi(WorkspaceAPIView):
    """Move mentions to another entity."""

    class InputSerializer(SelectionSerializer):
        target = serializers.UUIDField(help_text="The entity to move them to.")
        expected = ExpectedField()

    @curation_of_one("entity_move", takes=InputSerializer)
    def post(self, entity_id: UUID) -> object:
        """Move some mentions of an entity to another existing entity."""
        return curated(self, splitting.mentions_move, seen=entity_id, entity=entity_id)
