"""The REST operations on entities: list them, and view one with its sources."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from ingestion.curation.decisions_api import DecisionSerializer
from ingestion.history.preconditions import tags_of
from ingestion.knowledge import queries as knowledge_queries
from ingestion.knowledge.serializers import OtherEntitySerializer, SourceSpanSerializer
from ingestion.models import Claim
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading


class EntitySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    name = serializers.CharField()
    type = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    written_by = serializers.CharField(
        help_text="'extractive' for the documents' own sentences, 'joined' for what a model noted"
        " of single passages, else the model that summarised them,"
        " or 'person'."
    )
    mentions = serializers.IntegerField(source="mention_count")
    chunks = serializers.IntegerField(source="chunk_count")
    degree = serializers.IntegerField(help_text="Number of neighbours in the graph.")
    rank = serializers.FloatField()
    is_made = serializers.BooleanField(help_text="By a person: it stands without a document.")
    is_protected = serializers.BooleanField(help_text="Keeps its wording, whatever comes.")
    is_confirmed = serializers.BooleanField()
    proposed = serializers.DictField(help_text="What documents say where people say otherwise.")


class EntityListApi(WorkspaceAPIView):
    """The entities of a workspace."""

    class QuerySerializer(PageInput):
        q = serializers.CharField(required=False, default="", help_text="In names and aliases.")
        type = serializers.CharField(required=False, default="")

    class OutputSerializer(PageOutput):
        results = EntitySerializer(many=True)

    @reading("entity_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List entities, most mentioned first."""
        wanted = self.query()
        found = knowledge_queries.entities(
            workspace=self.workspace, text=wanted["q"], type_name=wanted["type"]
        )
        page = page_of(found, page=wanted["page"], page_size=wanted["page_size"])
        return page.of(page.results)


class FactSerializer(serializers.Serializer[Any]):
    relationship = serializers.UUIDField(source="relationship.pk")
    predicate = serializers.CharField(allow_blank=True)
    is_outgoing = serializers.BooleanField(help_text="From this entity to the other one.")
    other = OtherEntitySerializer()
    description = serializers.CharField(source="relationship.description", allow_blank=True)
    weight = serializers.FloatField(source="relationship.weight")
    evidence = serializers.IntegerField(source="relationship.evidence_count")
    sources = SourceSpanSerializer(many=True)


class NamingDocumentSerializer(serializers.Serializer[Any]):
    document = serializers.UUIDField(source="pk")
    title = serializers.CharField()
    mentions = serializers.IntegerField()


class EntityTopicSerializer(serializers.Serializer[Any]):
    community = serializers.UUIDField(source="community_id")
    level = serializers.IntegerField(source="community.level")
    title = serializers.CharField()


class ClaimSerializer(serializers.Serializer[Any]):
    type = serializers.CharField(source="claim.type")
    status = serializers.ChoiceField(source="claim.status", choices=Claim.Status.choices)
    description = serializers.CharField(source="claim.description")
    period_start = serializers.CharField(source="claim.period_start", allow_blank=True)
    period_end = serializers.CharField(source="claim.period_end", allow_blank=True)
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
        sources = SourceSpanSerializer(many=True, help_text="What the description is made of.")
        facts = FactSerializer(many=True)
        documents = NamingDocumentSerializer(many=True)
        topics = EntityTopicSerializer(many=True)
        claims = ClaimSerializer(many=True)
        conflicts = ConflictSerializer(many=True, help_text="Statements that cannot all hold.")
        decisions = DecisionSerializer(many=True, help_text="What was decided about its names.")
        look_alikes = LookAlikeSerializer(many=True, help_text="What may be the same thing.")
        namesakes = OtherEntitySerializer(many=True, help_text="Other things of the same name.")

    @reading("entity", gives=OutputSerializer)
    def get(self, entity_id: UUID) -> object:
        """View an entity: its names, its facts, and the passages that support them."""
        view = knowledge_queries.entity_view(workspace=self.workspace, entity_id=entity_id)
        body = EntitySerializer(view.entity).data | _known(view)
        return Response(body, headers=tags_of(self.workspace, entity_id))


def _known(view: knowledge_queries.EntityView) -> dict[str, Any]:
    documents = [
        {"pk": document.pk, "title": document.title, "mentions": mentions}
        for document, mentions in view.documents
    ]
    return {
        "aliases": list(view.aliases),
        "sources": SourceSpanSerializer(view.description, many=True).data,
        "facts": FactSerializer(view.facts, many=True).data,
        "documents": NamingDocumentSerializer(documents, many=True).data,
        "topics": EntityTopicSerializer(view.topics, many=True).data,
        "claims": ClaimSerializer(view.claims, many=True).data,
        "conflicts": ConflictSerializer(view.conflicts, many=True).data,
        "decisions": DecisionSerializer(view.decisions, many=True).data,
        "look_alikes": LookAlikeSerializer(view.look_alikes, many=True).data,
        "namesakes": OtherEntitySerializer(view.namesakes, many=True).data,
    }
