"""The REST operations on topics: the tree of communities, and their reports."""

from __future__ import annotations

from dataclasses import fields
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingestion.knowledge import insights, topics
from ingestion.knowledge.serializers import (
    BridgeSerializer,
    OtherEntitySerializer,
    SaidAboutSerializer,
    SourceSpanSerializer,
    StandingSerializer,
)
from ingestion.topics import services as topic_services
from workspaces.api import WorkspaceAPIView, curating, reading


class CommunitySerializer(serializers.Serializer[Any]):
    """A topic with its sub-topics. Without a report, title, summary and rating are null."""

    id = serializers.UUIDField(source="community.pk")
    level = serializers.IntegerField(source="community.level", help_text="0 for top-level topics.")
    size = serializers.IntegerField(
        source="community.size", help_text="Number of entities, including those of sub-topics."
    )
    title = serializers.CharField(source="report.title", default=None, allow_null=True)
    summary = serializers.CharField(source="report.summary", default=None, allow_null=True)
    rating = serializers.FloatField(source="report.rating", default=None, allow_null=True)
    children = serializers.SerializerMethodField()

    @extend_schema_field({"type": "array", "items": {"$ref": "#/components/schemas/Community"}})
    def get_children(self, node: topics.TopicNode) -> Any:
        return CommunitySerializer(node.children, many=True).data


class RecordReferenceSerializer(serializers.Serializer[Any]):
    """A record that a model cited for a finding."""

    kind = serializers.ChoiceField(["entity", "relationship", "claim", "report"])
    id = serializers.UUIDField()
    name = serializers.CharField(source="label")


class FindingSerializer(serializers.Serializer[Any]):
    """One statement of a report, with the passages that support it."""

    id = serializers.UUIDField(source="finding.pk")
    summary = serializers.CharField(source="finding.summary")
    explanation = serializers.CharField(source="finding.explanation", allow_blank=True)
    references = RecordReferenceSerializer(many=True, help_text="Empty in an extractive report.")
    sources = SourceSpanSerializer(many=True)


class NearCommunitySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="community_id")
    title = serializers.CharField()


class ReportProblemSerializer(serializers.Serializer[Any]):
    """Why no model wrote the report."""

    code = serializers.CharField()
    happened = serializers.CharField()
    kept = serializers.CharField()
    next_step = serializers.CharField()


class CommunityListApi(WorkspaceAPIView):
    """The topics of a workspace."""

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField(help_text="Number of top-level topics.")
        results = CommunitySerializer(many=True)

    @reading("community_list", gives=OutputSerializer)
    def get(self) -> object:
        """Return the tree of topics, largest first."""
        tree = topics.topic_tree(workspace=self.workspace)
        return {"total": len(tree), "results": tree}


class CommunityApi(WorkspaceAPIView):
    """One topic."""

    class OutputSerializer(serializers.Serializer[Any]):
        id = serializers.UUIDField(source="community.pk")
        level = serializers.IntegerField(source="community.level")
        size = serializers.IntegerField(source="community.size")
        title = serializers.CharField(source="report.title", default=None, allow_null=True)
        rating = serializers.FloatField(
            source="report.rating",
            default=None,
            allow_null=True,
            help_text="Importance of the topic, 0 to 10.",
        )
        rating_reason = serializers.CharField(
            source="report.rating_reason", default=None, allow_null=True
        )
        written_by = serializers.CharField(
            source="report.written_by",
            default=None,
            allow_null=True,
            help_text="The model's name; 'extractive' if the report quotes the documents.",
        )
        problem = ReportProblemSerializer(source="report.problem", default=None, allow_null=True)
        rejected = serializers.DictField(
            child=serializers.IntegerField(),
            source="report.rejected",
            default=dict,
            help_text="Number of parts rejected from the model's report, by reason.",
        )
        substituted = serializers.IntegerField(
            source="report.substituted",
            default=0,
            help_text="Number of sub-topics represented by their own reports.",
        )
        is_waiting = serializers.BooleanField(
            source="community.is_changed", help_text="Whether the next refresh rewrites the report."
        )
        summary = FindingSerializer(many=True, help_text="The summary, one sentence per item.")
        findings = FindingSerializer(many=True)
        entities = OtherEntitySerializer(many=True, help_text="Up to 40, highest rank first.")
        parent = NearCommunitySerializer(allow_null=True)
        children = NearCommunitySerializer(many=True)
        central = StandingSerializer(
            many=True, help_text="Members linked most strongly with the rest of the topic."
        )
        documented = SaidAboutSerializer(
            many=True, help_text="What most is stated about within the topic, people first."
        )
        bridges = BridgeSerializer(many=True, help_text="What joins it with other topics.")

    @reading("community", gives=OutputSerializer)
    def get(self, community_id: UUID) -> object:
        """View a topic and its report, with the passages that support each finding."""
        view = topics.topic_view(workspace=self.workspace, community_id=community_id)
        found = insights.topic_insights(workspace=self.workspace, community_id=community_id)
        names = [field.name for field in fields(view)]
        return {name: getattr(view, name) for name in names} | {
            "central": found.central,
            "documented": found.documented,
            "bridges": found.bridges,
        }


class TopicBridgesApi(WorkspaceAPIView):
    """What joins topics."""

    class QuerySerializer(serializers.Serializer[Any]):
        limit = serializers.IntegerField(default=20, min_value=1, max_value=100)

    class OutputSerializer(serializers.Serializer[Any]):
        results = BridgeSerializer(many=True)

    @reading("topic_bridges", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List entities that much of what links two topics goes through, one for each pair."""
        most = self.query()["limit"]
        return {"results": insights.bridges(workspace=self.workspace, most=most)}


class ReportRetryApi(WorkspaceAPIView):
    """Have a model rewrite an extractive report."""

    class OutputSerializer(serializers.Serializer[Any]):
        community = serializers.UUIDField()

    @curating("report_retry", gives=OutputSerializer, status=202, errors=(409,))
    def post(self, community_id: UUID) -> object:
        """Have a model rewrite a topic's extractive report, in a refresh that starts now."""
        community = topics.community_get(workspace=self.workspace, community_id=community_id)
        topic_services.report_retry(workspace=self.workspace, community=community)
        return {"community": community.pk}


class ReportsRetryApi(WorkspaceAPIView):
    """Have a model rewrite all extractive reports."""

    class OutputSerializer(serializers.Serializer[Any]):
        reports = serializers.IntegerField()

    @curating("reports_retry", gives=OutputSerializer, status=202, errors=(409,))
    def post(self) -> object:
        """Have a model rewrite all extractive reports, in a refresh that starts now."""
        number = topic_services.reports_retry(workspace=self.workspace)
        return {"reports": number}
