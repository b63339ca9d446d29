"""The REST operations on topics: the tree of communities, their reports, the map, and watches."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingestion.knowledge import insights, topics, watches
from ingestion.knowledge.spans import (
    BridgeSerializer,
    OtherEntitySerializer,
    SaidAboutSerializer,
    SourceSpanSerializer,
    StandingSerializer,
)
from ingestion.topics import map as topic_maps, services as topic_services
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


# --- the map --------------------------------------------------------------------------------------
class MapTopicSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    title = serializers.CharField()
    size = serializers.IntegerField(help_text="Number of entities and terms.")
    level = serializers.IntegerField(help_text="0 for top-level topics.")
    parts = serializers.IntegerField(help_text="Number of sub-topics.")
    x = serializers.FloatField(help_text="Where its entities are in the explorer, on average.")
    y = serializers.FloatField()


class MapLinkSerializer(serializers.Serializer[Any]):
    a = serializers.UUIDField()
    b = serializers.UUIDField()
    weight = serializers.FloatField(help_text="Of all relationships between the two topics.")
    relationships = serializers.IntegerField()


class TopicMapApi(WorkspaceAPIView):
    """The map of topics."""

    class QuerySerializer(serializers.Serializer[Any]):
        level = serializers.IntegerField(default=0, min_value=0, max_value=20)
        within = serializers.UUIDField(
            required=False, help_text="Only the topics right below this one."
        )

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField(help_text="Number of topics, shown or not.")
        levels = serializers.IntegerField(help_text="Number of levels of the tree.")
        topics = MapTopicSerializer(many=True, help_text="The largest, up to 30.")
        links = MapLinkSerializer(many=True, help_text="Strongest first.")

    @reading("community_map", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """Return the topics of a level, and how the documents connect them."""
        return topic_maps.topic_map(workspace=self.workspace, **self.query())


# --- watching -------------------------------------------------------------------------------------
class WatchSerializer(serializers.Serializer[Any]):
    """A watched topic with the number of changes since the member last opened it."""

    watched = serializers.UUIDField(source="watch.topic")
    community = serializers.UUIDField(
        source="topic",
        allow_null=True,
        help_text="Another topic if the watched one is gone; null if none has its entities.",
    )
    title = serializers.CharField(help_text="Empty without a report.")
    visited_at = serializers.DateTimeField(source="watch.visited_at")
    mails = serializers.BooleanField(source="watch.mails")
    changes = serializers.IntegerField(source="changes.count")


class ChangeCountsSerializer(serializers.Serializer[Any]):
    joined = serializers.IntegerField()
    left = serializers.IntegerField()
    documents = serializers.IntegerField()
    facts = serializers.IntegerField()

    def to_representation(self, instance: Any) -> dict[str, int]:
        return {
            "joined": len(instance.joined),
            "left": len(instance.left),
            "documents": len(instance.versions),
            "facts": len(instance.facts),
        }


class NewDocumentSerializer(serializers.Serializer[Any]):
    document = serializers.UUIDField(source="version.document_id")
    title = serializers.CharField(source="version.document.title")
    version = serializers.IntegerField(source="version.number")
    is_revision = serializers.BooleanField(
        help_text="Whether an earlier version named entities of the topic, too."
    )


class NewFactSerializer(serializers.Serializer[Any]):
    entity = OtherEntitySerializer(source="source")
    other = OtherEntitySerializer(source="target", allow_null=True, help_text="Null for a claim.")
    text = serializers.CharField(allow_blank=True)
    span = SourceSpanSerializer(allow_null=True)


class TopicChangesSerializer(serializers.Serializer[Any]):
    """What changed since a visit; each list has at most 12 items, ``counts`` counts all."""

    since = serializers.DateTimeField()
    counts = ChangeCountsSerializer(source="changes")
    is_retitled = serializers.BooleanField(source="changes.is_retitled")
    is_rewritten = serializers.BooleanField(source="changes.is_rewritten")
    joined = OtherEntitySerializer(many=True)
    left = OtherEntitySerializer(many=True, help_text="Those that documents still name.")
    gone = serializers.IntegerField(help_text="Entities that left and that no document names now.")
    documents = NewDocumentSerializer(many=True)
    facts = NewFactSerializer(many=True)
    has_moved = serializers.BooleanField(
        help_text="Whether the watched topic is gone, and this one has most of its entities."
    )
    is_elsewhere = serializers.BooleanField(
        help_text="Whether access to collections changed since: changes count from now on."
    )


class WatchListApi(WorkspaceAPIView):
    """The topics you watch."""

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField()
        results = WatchSerializer(many=True)

    @reading("community_watched", gives=OutputSerializer)
    def get(self) -> object:
        """List the topics you watch, those with most changes first."""
        found = watches.watched(self.workspace)
        return {"total": len(found), "results": found}


class WatchApi(WorkspaceAPIView):
    """Your watch on a topic."""

    class InputSerializer(serializers.Serializer[Any]):
        mails = serializers.BooleanField(
            required=False, help_text="Whether e-mails mention the topic."
        )

    @reading("community_changes", gives=TopicChangesSerializer)
    def get(self, community_id: UUID) -> object:
        """View what changed in a topic you watch since your last visit."""
        found = topic_services.watch_get(workspace=self.workspace, community_id=community_id)
        return watches.change_list(self.workspace, found)

    @reading("community_watch", takes=InputSerializer, gives=WatchSerializer, errors=(409,))
    def put(self, community_id: UUID) -> object:
        """Watch a topic, or choose whether e-mails mention it."""
        return topic_services.topic_watch(
            workspace=self.workspace, community_id=community_id, **self.body()
        )

    @reading("community_unwatch", status=204)
    def delete(self, community_id: UUID) -> object:
        """Stop watching a topic."""
        topic_services.topic_unwatch(workspace=self.workspace, community_id=community_id)
        return None


class WatchSeenApi(WorkspaceAPIView):
    """A visit to a topic you watch."""

    @reading("community_seen", gives=TopicChangesSerializer)
    def post(self, community_id: UUID) -> object:
        """Mark a topic as seen, as opening its page does; return what was new."""
        found = topic_services.watch_get(workspace=self.workspace, community_id=community_id)
        return topic_services.topic_visit(workspace=self.workspace, watched=found)
