"""The REST operations on summary trees: a document's, and the one over all documents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ingestion.documents.queries import document_get
from ingestion.knowledge import summaries
from ingestion.knowledge.serializers import SourceSpanSerializer
from ingestion.models import Document
from kb_project.http.api import PageInput, PageOutput, page_of
from workspaces.api import WorkspaceAPIView, reading


class TreeChildSerializer(serializers.Serializer[Any]):
    """A child of a node. ``probability`` is how likely it is to belong there."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=["node", "passage"])
    probability = serializers.FloatField()
    document = serializers.UUIDField(source="document.pk", default=None, allow_null=True)
    title = serializers.CharField(source="document.title", default=None, allow_null=True)


class TreeNodeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="node.pk")
    layer = serializers.IntegerField(source="node.layer", help_text="1 is just above the leaves.")
    text = serializers.CharField(source="node.text")
    tokens = serializers.IntegerField(source="node.tokens")
    written_by = serializers.CharField(
        source="node.written_by", help_text="The model's name; 'extractive' for quoted sentences."
    )
    sources = SourceSpanSerializer(many=True)
    children = TreeChildSerializer(many=True)


class TreeSerializer(PageOutput):
    """A summary tree. Empty if none was built; a document with one passage needs none."""

    root_id = serializers.UUIDField(source="tree.root_id", default=None, allow_null=True)
    layers = serializers.IntegerField(source="tree.layers", default=0)
    failed = serializers.IntegerField(
        source="tree.failed", default=0, help_text="Summaries the model failed to write."
    )
    built_at = serializers.DateTimeField(source="tree.built_at", default=None, allow_null=True)
    results = TreeNodeSerializer(many=True, help_text="From the root down, layer by layer.")


class TreeAPIView(WorkspaceAPIView):
    """A view of one summary tree."""

    def page_of_tree(self, document: Document | None) -> object:
        """Return the page of the tree that the query selects."""
        tree = summaries.tree_get(workspace=self.workspace, document=document)
        rows = summaries.nodes_of(workspace=self.workspace, tree=tree)
        page = page_of(rows, **self.query())
        nodes = summaries.tree_nodes(workspace=self.workspace, nodes=page.results)
        return page.of(nodes) | {"tree": tree}


class DocumentTreeApi(TreeAPIView):
    """The summary tree of one document."""

    @reading("document_tree", query=PageInput, gives=TreeSerializer)
    def get(self, document_id: UUID) -> object:
        """List the nodes of a document's summary tree."""
        document = document_get(workspace=self.workspace, document_id=document_id)
        return self.page_of_tree(document)


class WorkspaceTreeApi(TreeAPIView):
    """The summary tree over all documents."""

    @reading("workspace_tree", query=PageInput, gives=TreeSerializer)
    def get(self) -> object:
        """List the nodes of the workspace's summary tree, which summarises the documents' own
        summaries.
        """
        return self.page_of_tree(None)
