"""The REST operation on pictures of the graph: which entities to draw, where, and how connected."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ingestion.explorer import queries
from ingestion.explorer.queries import Scope
from ingestion.knowledge.periods import as_of_date
from kb_project.errors import InputError
from workspaces.api import WorkspaceAPIView, reading


class GraphViewNodeSerializer(serializers.Serializer[Any]):
    """An entity in the picture."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    type = serializers.CharField()
    degree = serializers.IntegerField(help_text="Number of all its neighbours, shown or not.")
    topic = serializers.UUIDField(allow_null=True, help_text="Its broadest topic.")
    is_term = serializers.BooleanField(help_text="Whether lists of entities leave it out.")
    x = serializers.FloatField(allow_null=True, help_text="Null until the next refresh places it.")
    y = serializers.FloatField(allow_null=True)


class GraphViewEdgeSerializer(serializers.Serializer[Any]):
    """All relationships between two entities."""

    a = serializers.UUIDField()
    b = serializers.UUIDField()
    weight = serializers.FloatField()
    evidence = serializers.IntegerField(help_text="Number of passages.")


class GraphViewApi(WorkspaceAPIView):
    """The picture that the graph's page opens with."""

    class QuerySerializer(serializers.Serializer[Any]):
        entity = serializers.UUIDField(required=False, help_text="Its neighbourhood.")
        document = serializers.UUIDField(required=False, help_text="What a document names most.")
        topic = serializers.UUIDField(required=False, help_text="The entities of a topic.")
        entities = serializers.CharField(
            required=False,
            max_length=40 * queries.MOST_NAMED,
            help_text=f"Up to {queries.MOST_NAMED} ids with commas between them, and what is around"
            " them.",
        )
        as_of = serializers.CharField(
            required=False,
            help_text="Leave out relationships that do not hold then: 2019, 2019-05, 2019-05-03.",
        )
        limit = serializers.IntegerField(
            default=queries.USUAL, min_value=1, max_value=queries.MOST, help_text="Entities."
        )

    class OutputSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField(help_text="Number of entities, shown or not.")
        terms = serializers.IntegerField(
            help_text="How many of them are terms, which lists of entities leave out."
        )
        nodes = GraphViewNodeSerializer(many=True, help_text="The most telling first.")
        edges = GraphViewEdgeSerializer(many=True, help_text="The strongest of each entity.")
        edges_total = serializers.IntegerField(
            help_text="Number of connected pairs among the entities shown."
        )
        focus = serializers.ListField(child=serializers.UUIDField())

    @reading("graph_view", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """View the most telling part of the graph: of all, or around what is named."""
        given = self.query()
        return queries.opening(
            workspace=self.workspace, scope=_scope(given), limit=int(given["limit"])
        )


def _scope(given: dict[str, Any]) -> Scope:
    as_of = as_of_date(given.get("as_of"))
    for kind in ("entity", "document", "topic"):
        if given.get(kind):
            return Scope(kind, id=given[kind], as_of=as_of)
    named = [one for one in given.get("entities", "").split(",") if one]
    if not named:
        return Scope(as_of=as_of)
    try:
        ids = tuple(dict.fromkeys(UUID(one) for one in named))
        return Scope("entities", ids=ids, as_of=as_of)
    except ValueError:
        raise InputError(
            "The ids of entities are not readable.", next_step="Separate ids with commas."
        ) from None
