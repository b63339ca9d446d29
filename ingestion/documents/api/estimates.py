"""Cost estimates for documents, before anything is spent."""

from __future__ import annotations

from typing import Any, Final

from rest_framework import serializers

from ingestion.documents import estimate_queries, estimate_sentences
from ingestion.documents.estimate_queries import FileSize
from ingestion.documents.estimates import Estimate
from kb_project.errors import InputError
from workspaces.api import WorkspaceAPIView, writing

MOST_FILES: Final = 10_000
LARGEST: Final = 2**40


class RangeSerializer(serializers.Serializer[Any]):
    low = serializers.FloatField()
    high = serializers.FloatField()


class FileSizeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=500)
    size = serializers.IntegerField(min_value=0, max_value=LARGEST, help_text="Bytes.")


class EstimateApi(WorkspaceAPIView):
    """The estimated cost of adding files or reading documents again."""

    class InputSerializer(serializers.Serializer[Any]):
        files = serializers.ListField(
            child=FileSizeSerializer(), required=False, max_length=MOST_FILES
        )
        documents = serializers.ListField(
            child=serializers.UUIDField(), required=False, max_length=MOST_FILES
        )

    class OutputSerializer(serializers.Serializer[Any]):
        documents = serializers.IntegerField()
        passages = RangeSerializer()
        calls = RangeSerializer()
        prompt_tokens = RangeSerializer()
        completion_tokens = RangeSerializer()
        cost = RangeSerializer(allow_null=True, help_text="Null: no price is set for the model.")
        seconds = RangeSerializer()
        known = serializers.IntegerField(help_text="Calls that the cache answers for nothing.")
        budget_left = serializers.FloatField(source="left", allow_null=True)
        is_free = serializers.BooleanField()
        is_short = serializers.BooleanField(help_text="The budget may not suffice.")
        sentences = serializers.SerializerMethodField()

        def get_sentences(self, estimate: Estimate) -> list[str]:
            return estimate_sentences.sentences(estimate)

    @writing("document_estimate", takes=InputSerializer, gives=OutputSerializer)
    def post(self) -> object:
        """Estimate passages, tokens, cost and time. Send only the files' names and sizes."""
        given = self.body()
        files, documents = given.get("files", []), given.get("documents", [])
        if bool(files) == bool(documents):
            raise InputError(
                "Name either 'files' or 'documents'.",
                code="invalid_input",
                next_step="Send the names and sizes of files, or the ids of documents.",
            )
        if documents:
            estimate = estimate_queries.estimate_for_documents(
                workspace=self.workspace, document_ids=documents
            )
        else:
            sizes = [FileSize(file["name"], file["size"]) for file in files]
            estimate = estimate_queries.estimate_for_files(workspace=self.workspace, files=sizes)
        return estimate
