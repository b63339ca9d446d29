"""Summary trees: of a document, and of the workspace over its documents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ingestion.documents import queries as document_queries
from ingestion.knowledge import trees
from ingestion.knowledge.serializers import SourceSpanSerializer
from workspaces.api import WorkspaceAPIView, reading


class TreeChildSerializer(serializers.Serializer[Any]):
    """A child that a node summarises; ``probability`` is how likely it belongs there."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=["node", "passage"])
    probability = serializers.FloatField()
    document = serializers.UUIDField(source="document.pk", default=None)
    title = serializers.CharField(source="document.title", default=None)


class TreeNodeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="node.pk")
    layer = serializers.IntegerField(source="node.layer", help_text="1 is next to the leaves.")
    text = serializers.CharField(source="node.text")
    tokens = serializers.IntegerField(source="node.tokens")
    written_by = serializers.CharField(
        source="node.written_by", help_text='A model, or "extractive": sentences as they are.'
    )
    sources = SourceSpanSerializer(many=True)
    children = TreeChildSerializer(many=True)


class TreeSerializer(serializers.Serializer[Any]):
    """A summary tree, without root and nodes if none was built. One passage needs none."""

    root_id = serializers.UUIDField(source="tree.root_id", default=None)
    layers = serializers.IntegerField(source="tree.layers", default=0)
    failed = serializers.IntegerField(
        source="tree.failed", default=0, help_text="Summaries a model was asked for in vain."
    )
    built_at = serializers.DateTimeField(source="tree.built_at", default=None)
    nodes = TreeNodeSerializer(many=True, help_text="From the root down, layer by layer.")


class DocumentTreeApi(WorkspaceAPIView):
    """The summary tree of one document."""

    @reading("document_tree", gives=TreeSerializer)
    def get(self, document_id: UUID) -> object:
        """A document's summaries, each with its children."""
        document = document_queries.document_get(workspace=self.workspace, document_id=document_id)
        return trees.tree_view(workspace=self.workspace, document=document)


class WorkspaceTreeApi(WorkspaceAPIView):
    """The summary tree over all documents."""

    @reading("workspace_tree", gives=TreeSerializer)
    def get(self) -> object:
        """Summaries over the documents' own: the children of its lowest layer are documents."""
        return trees.tree_view(workspace=self.workspace, document=None)
