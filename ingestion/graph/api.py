"""The REST operations on the graph: neighbours, paths, subgraphs, and lists of claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingestion.graph import lists, queries
from ingestion.knowledge.periods import as_of_date
from ingestion.knowledge.spans import AS_OF, OtherEntitySerializer, SourceSpanSerializer, span_of
from ingestion.models import Claim
from kb_project.graph.ports import MAX_HOPS
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading

MOST_QUOTES: Final = 5
MOST_GIVEN: Final = 200
UNAVAILABLE: Final = (503,)


class NodeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    type = serializers.CharField()
    degree = serializers.IntegerField(help_text="Number of neighbours in the whole graph.")


class EdgeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The relationship's id.")
    source = serializers.UUIDField()  # type: ignore[assignment]  # the API's word for it
    target = serializers.UUIDField()
    weight = serializers.FloatField()
    predicate = serializers.CharField(
        allow_blank=True, help_text="Empty if the documents only name both ends together."
    )
    description = serializers.CharField(allow_blank=True)
    sources = SourceSpanSerializer(many=True, help_text="The best quotes that support it.")


class GraphSerializer(serializers.Serializer[Any]):
    nodes = NodeSerializer(many=True)
    edges = EdgeSerializer(many=True, help_text="Heaviest first.")
    total_nodes = serializers.IntegerField(help_text="Number of entities, shown or not.")
    total_edges = serializers.IntegerField(help_text="Number of relationships, shown or not.")


class QuotesInput(serializers.Serializer[Any]):
    quotes = serializers.IntegerField(
        min_value=0,
        max_value=MOST_QUOTES,
        default=queries.QUOTES,
        help_text="The most quotes for each relationship.",
    )


class GraphInput(QuotesInput):
    limit = serializers.IntegerField(
        min_value=1, max_value=queries.MOST_NODES, default=50, help_text="The most entities."
    )


def _shown(view: WorkspaceAPIView, graph: queries.GraphView, quotes: int) -> dict[str, object]:
    edges = queries.with_evidence(view.workspace, graph.edges, quotes) if quotes else graph.edges
    return {
        "nodes": graph.nodes,
        "edges": edges,
        "total_nodes": graph.total_nodes,
        "total_edges": graph.total_edges,
    }


class NeighboursApi(WorkspaceAPIView):
    """What an entity is related to."""

    class QuerySerializer(GraphInput):
        entity = serializers.UUIDField()

    @reading("graph_neighbours", query=QuerySerializer, gives=GraphSerializer, errors=UNAVAILABLE)
    def get(self) -> object:
        """List an entity's strongest relationships and the entities they lead to.

        The entity itself is the first node.
        """
        wanted = self.query()
        found = queries.neighbours_of(self.workspace, wanted["entity"], wanted["limit"])
        return _shown(self, found, wanted["quotes"])


class PathSerializer(serializers.Serializer[Any]):
    nodes = NodeSerializer(many=True, help_text="From source to target.")
    edges = EdgeSerializer(
        many=True, help_text="Each joins two successive nodes, in either direction."
    )
    strength = serializers.FloatField(
        help_text="From 0 to 1: higher with more evidence, lower with every step."
    )


class PathsApi(WorkspaceAPIView):
    """How two entities are connected."""

    class QuerySerializer(QuotesInput):
        source = serializers.UUIDField()  # type: ignore[assignment]  # the API's word for it
        target = serializers.UUIDField()
        max_steps = serializers.IntegerField(min_value=1, max_value=MAX_HOPS, default=MAX_HOPS)
        limit = serializers.IntegerField(
            min_value=1, max_value=queries.MOST_PATHS, default=5, help_text="The most paths."
        )
        order = serializers.ChoiceField(
            [order.value for order in queries.PathOrder],
            default=queries.PathOrder.EVIDENCE.value,
            help_text="'shortest' gives the shortest paths only; 'evidence' those of any length"
            " with the most evidence.",
        )
        as_of = serializers.CharField(**AS_OF)

    class OutputSerializer(serializers.Serializer[Any]):
        source = OtherEntitySerializer()  # type: ignore[assignment]  # the API's word for it
        target = OtherEntitySerializer()
        max_steps = serializers.IntegerField(help_text="How far was looked.")
        paths = PathSerializer(
            many=True, help_text="Best first; empty if there is none within 'max_steps'."
        )
        shared = NodeSerializer(
            many=True, help_text="Entities related to both, the least connected first."
        )

    @reading("graph_paths", query=QuerySerializer, gives=OutputSerializer, errors=UNAVAILABLE)
    def get(self) -> object:
        """Find the best paths between two entities, with the quotes that support each step.

        With a date, those of the 25 best of which every step holds then.
        """
        wanted = self.query()
        ends = wanted["source"], wanted["target"]
        order = queries.PathOrder(wanted["order"])
        as_of = as_of_date(wanted["as_of"])
        most = queries.MOST_PATHS if as_of else wanted["limit"]
        found = queries.paths_between(self.workspace, *ends, wanted["max_steps"], most, order)
        if as_of:
            found = queries.holding_at(self.workspace, found, as_of)
            found = replace(found, paths=found.paths[: wanted["limit"]])
        quoted = queries.with_evidence(self.workspace, found.edges, wanted["quotes"])
        edges = {edge.id: edge for edge in quoted}
        return {
            "source": found.source,
            "target": found.target,
            "max_steps": found.max_steps,
            "paths": [
                {
                    "nodes": path.nodes,
                    "edges": [edges[edge.id] for edge in path.edges],
                    "strength": path.strength,
                }
                for path in found.paths
            ],
            "shared": queries.shared_neighbours_of(self.workspace, *ends),
        }


class SubgraphApi(WorkspaceAPIView):
    """A part of the graph."""

    class QuerySerializer(GraphInput):
        entity = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            max_length=MOST_GIVEN,
            help_text="These entities, and their strongest neighbours.",
        )
        document = serializers.UUIDField(
            required=False, help_text="The entities that this document names."
        )
        topic = serializers.UUIDField(required=False, help_text="The entities of this topic.")

        def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
            if sum(name in attrs for name in ("entity", "document", "topic")) != 1:
                raise serializers.ValidationError(
                    "Give exactly one of 'entity', 'document' and 'topic'."
                )
            return attrs

    @reading("graph_subgraph", query=QuerySerializer, gives=GraphSerializer, errors=UNAVAILABLE)
    def get(self) -> object:
        """Return the entities around others, of a document or of a topic, and what relates them."""
        wanted = self.query()
        limit = wanted["limit"]
        if "document" in wanted:
            found = queries.subgraph_of_document(self.workspace, wanted["document"], limit)
        elif "topic" in wanted:
            found = queries.subgraph_of_topic(self.workspace, wanted["topic"], limit)
        else:
            found = queries.subgraph_of(self.workspace, wanted["entity"], limit)
        return _shown(self, found, wanted["quotes"])


class ListedClaimSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    subject = OtherEntitySerializer()
    object = OtherEntitySerializer(allow_null=True)
    type = serializers.CharField()
    status = serializers.ChoiceField(choices=Claim.Status.choices)
    description = serializers.CharField()
    period_start = serializers.CharField(allow_blank=True)
    period_end = serializers.CharField(allow_blank=True)
    source = serializers.SerializerMethodField()  # type: ignore[assignment]  # the API's word for it

    @extend_schema_field(SourceSpanSerializer)
    def get_source(self, claim: Claim) -> Any:
        span = span_of(claim)
        return SourceSpanSerializer(span).data


class ClaimListApi(WorkspaceAPIView):
    """The claims of a workspace."""

    class QuerySerializer(PageInput):
        entity = serializers.UUIDField(required=False, help_text="The claim's subject or object.")
        document = serializers.UUIDField(required=False)
        kind = serializers.CharField(required=False, default="", help_text="The claim's type.")
        status = serializers.ChoiceField(Claim.Status.choices, required=False, default="")
        q = serializers.CharField(
            required=False, default="", help_text="Text to find in descriptions."
        )
        order = serializers.ChoiceField([*lists.CLAIM_ORDERS], default="type")

    class OutputSerializer(PageOutput):
        results = ListedClaimSerializer(many=True)

    @reading("claim_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List claims, each with the passage that makes it."""
        wanted = self.query()
        which = lists.ClaimFilter(
            entity_id=wanted.get("entity"),
            document_id=wanted.get("document"),
            kind=wanted["kind"],
            status=wanted["status"],
            text=wanted["q"],
        )
        found = lists.claims(workspace=self.workspace, wanted=which, order=wanted["order"])
        page = page_of(found, page=wanted["page"], page_size=wanted["page_size"])
        return page.of(page.results)
