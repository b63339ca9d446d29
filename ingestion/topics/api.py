"""The REST operations on topics: the tree of communities, and their reports."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final
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
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, curating, reading

MOST_NESTED: Final = 10
"""Sub-topics within each topic of a list."""


class CommunitySerializer(serializers.Serializer[Any]):
    """A topic with its largest sub-topics. Without a report, title, summary and rating are null."""

    id = serializers.UUIDField(source="community.pk")
    level = serializers.IntegerField(source="community.level", help_text="0 for top-level topics.")
    size = serializers.IntegerField(
        source="community.size",
        help_text="Number of entities and terms, including those of sub-topics. `entities/` lists"
        " terms only with `type=concept`.",
    )
    title = serializers.CharField(source="report.title", default=None, allow_null=True)
    summary = serializers.CharField(source="report.summary", default=None, allow_null=True)
    rating = serializers.FloatField(source="report.rating", default=None, allow_null=True)
    parts = serializers.IntegerField(help_text="Number of sub-topics right below it.")
    children = serializers.SerializerMethodField(
        help_text=f"The {MOST_NESTED} largest of them, without theirs; 'parent' lists all."
    )

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

    class QuerySerializer(PageInput):
        parent = serializers.UUIDField(  # type: ignore[assignment]  # the API's word for it
            required=False,
            default=None,
            help_text="Only the topics right below this one; without it, those of the first level.",
        )

    class OutputSerializer(PageOutput):
        results = CommunitySerializer(many=True)

    @reading("community_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List the topics of a level of the tree, largest first."""
        wanted = self.query()
        if wanted["parent"]:
            topics.community_get(workspace=self.workspace, community_id=wanted["parent"])
        rows = topics.topics_below(workspace=self.workspace, parent=wanted["parent"])
        page = page_of(rows, page=wanted["page"], page_size=wanted["page_size"])
        nodes = topics.topic_nodes(workspace=self.workspace, communities=page.results)
        return page.of(
            topics.with_largest_parts(workspace=self.workspace, nodes=nodes, most=MOST_NESTED)
        )


class CommunityApi(WorkspaceAPIView):
    """One topic."""

    class OutputSerializer(serializers.Serializer[Any]):
        id = serializers.UUIDField(source="community.pk")
        level = serializers.IntegerField(source="community.level")
        size = serializers.IntegerField(
            source="community.size", help_text="Number of entities and terms."
        )
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
        children = NearCommunitySerializer(
            many=True, help_text=f"The largest sub-topics, up to {topics.MOST_PARTS}."
        )
        parts = serializers.IntegerField(help_text="Number of sub-topics right below it.")
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
