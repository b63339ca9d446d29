"""The REST operations on the map of topics, and on topics that a member watches."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ingestion.knowledge import watches
from ingestion.knowledge.serializers import OtherEntitySerializer, SourceSpanSerializer
from ingestion.topics import map as topic_maps, watching
from workspaces.api import WorkspaceAPIView, reading


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
        found = watching.watch_get(workspace=self.workspace, community_id=community_id)
        return watches.change_list(self.workspace, found)

    @reading("community_watch", takes=InputSerializer, gives=WatchSerializer, errors=(409,))
    def put(self, community_id: UUID) -> object:
        """Watch a topic, or choose whether e-mails mention it."""
        return watching.topic_watch(
            workspace=self.workspace, community_id=community_id, **self.body()
        )

    @reading("community_unwatch", status=204)
    def delete(self, community_id: UUID) -> object:
        """Stop watching a topic."""
        watching.topic_unwatch(workspace=self.workspace, community_id=community_id)
        return None


class WatchSeenApi(WorkspaceAPIView):
    """A visit to a topic you watch."""

    @reading("community_seen", gives=TopicChangesSerializer)
    def post(self, community_id: UUID) -> object:
        """Mark a topic as seen, as opening its page does; return what was new."""
        found = watching.watch_get(workspace=self.workspace, community_id=community_id)
        return watching.topic_visit(workspace=self.workspace, watched=found)
