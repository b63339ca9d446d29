"""Reading documents again after the workspace's reading settings change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ingestion.documents import queries as document_queries, rereading, unread_passages
from ingestion.documents.api.estimates import MOST_FILES, EstimateApi
from workspaces.api import WorkspaceAPIView, reading, writing


class ReadAgainApi(WorkspaceAPIView):
    """Documents that were read with other settings than the workspace has now."""

    class InputSerializer(serializers.Serializer[Any]):
        documents = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            max_length=MOST_FILES,
            help_text="Of these only; of all, unless given.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        documents = serializers.IntegerField(help_text="So many are being read again.")

    @writing("read_again_estimate", gives=EstimateApi.OutputSerializer)
    def get(self) -> object:
        """Count them, and estimate the cost of reading them again."""
        return rereading.reading_again_estimate(workspace=self.workspace)

    @writing("read_again", takes=InputSerializer, gives=OutputSerializer, status=202)
    def post(self) -> object:
        """Read them again. If there are none, nothing happens and nothing is spent."""
        documents = self.body().get("documents")
        number = rereading.documents_read_again(workspace=self.workspace, documents=documents)
        return {"documents": number}


class PassageProblemsApi(WorkspaceAPIView):
    """What a model could not read in a document, and what it said without support in the text."""

    class PassageSerializer(serializers.Serializer[Any]):
        """From ``unread_passages.UnreadPassage``."""

        chunk = serializers.UUIDField(source="chunk_id")
        number = serializers.IntegerField(help_text="Of the document's passages, from 1.")
        start = serializers.IntegerField()
        end = serializers.IntegerField()
        page = serializers.IntegerField(allow_null=True)
        heading_path = serializers.ListField(child=serializers.CharField())
        text = serializers.CharField(help_text="How it begins.")
        problem = serializers.DictField(help_text="code, happened, kept, next_step")

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        total = serializers.IntegerField()
        rejected = serializers.DictField(
            child=serializers.IntegerField(), help_text="Facts kept out, by reason."
        )

        def get_fields(self) -> dict[str, Any]:
            fields = super().get_fields()
            return {**fields, "passages": PassageProblemsApi.PassageSerializer(many=True)}

    @reading("passage_problems", gives=OutputSerializer)
    def get(self, document_id: UUID) -> object:
        """List the passages without facts, and count the rejected facts."""
        document = document_queries.document_get(workspace=self.workspace, document_id=document_id)
        unread = unread_passages.passages_with_problems(workspace=self.workspace, document=document)
        rejected = unread_passages.rejections_of(workspace=self.workspace, document=document)
        answer = {"document": document.pk, "total": len(unread), "rejected": rejected}
        return answer | {"passages": unread}


class PassageRetryApi(WorkspaceAPIView):
    """Read unread passages again."""

    class InputSerializer(serializers.Serializer[Any]):
        chunk = serializers.UUIDField(
            required=False, help_text="One passage; all that could not be read, unless given."
        )

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        job = serializers.UUIDField()

    @writing(
        "passage_retry", takes=InputSerializer, gives=OutputSerializer, status=202, errors=(409,)
    )
    def post(self, document_id: UUID) -> object:
        """Have the model read one unread passage again, or all of the document's."""
        chunk = self.body().get("chunk")
        document = document_queries.document_get(workspace=self.workspace, document_id=document_id)
        job = unread_passages.passages_retry(
            workspace=self.workspace,
            document=document,
            chunk_ids=None if chunk is None else [chunk],
        )
        return {"document": document.pk, "job": job.pk}
