"""The REST operations on the work that documents need: estimate, retry, cancel, read again."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from rest_framework import serializers
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser

from ingestion.documents import (
    estimates,
    outcomes,
    rereading,
    services,
    trial_reading,
)
from ingestion.documents.api.documents import DocumentAPIView
from ingestion.documents.cost_model import Estimate
from ingestion.documents.estimates import FileSize
from kb_project.errors import InputError
from workspaces.api import WaitingAPIView, WorkspaceAPIView, reading, writing

MOST_FILES: Final = 10_000
LARGEST: Final = 2**40


class RangeSerializer(serializers.Serializer[Any]):
    low = serializers.FloatField()
    high = serializers.FloatField()


class FileSizeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=500)
    size = serializers.IntegerField(min_value=0, max_value=LARGEST, help_text="Bytes.")


class EstimateApi(WaitingAPIView):
    """The estimated cost of adding files or reading documents again."""

    parser_classes = [JSONParser, MultiPartParser, FormParser]

    class InputSerializer(serializers.Serializer[Any]):
        file = serializers.ListField(
            child=serializers.FileField(),
            required=False,
            help_text="Files, as a form. The first 32 MB are read, and nothing is kept.",
        )
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
        cost = RangeSerializer(allow_null=True, help_text="Null if the model has no price.")
        seconds = RangeSerializer()
        known = serializers.IntegerField(help_text="Calls answered from the cache at no cost.")
        budget_left = serializers.FloatField(source="left", allow_null=True)
        is_free = serializers.BooleanField()
        is_short = serializers.BooleanField(help_text="Whether the budget may be too low.")
        sentences = serializers.SerializerMethodField()

        def get_sentences(self, estimate: Estimate) -> list[str]:
            return estimates.sentences(estimate)

    @writing(
        "document_estimate",
        takes=InputSerializer,
        media_types=("application/json", "multipart/form-data"),
        gives=OutputSerializer,
    )
    def post(self) -> object:
        """Estimate passages, tokens, cost and time: of files, which are read, of files of these
        names and sizes, or of documents.
        """
        given = self.body()
        read, files, documents = (given.get(name, []) for name in ("file", "files", "documents"))
        if sum(map(bool, (read, files, documents))) != 1:
            raise InputError(
                "Send either 'file', 'files' or 'documents'.",
                code="invalid_input",
                next_step="Send files, the names and sizes of files, or the ids of documents.",
            )
        if read:
            return trial_reading.uploads_estimate(workspace=self.workspace, files=read)
        if documents:
            return estimates.estimate_for_documents(
                workspace=self.workspace, document_ids=documents
            )
        sizes = [FileSize(file["name"], file["size"]) for file in files]
        return estimates.estimate_for_files(workspace=self.workspace, files=sizes)


class DocumentsRetryApi(WorkspaceAPIView):
    """Resume all stopped documents."""

    class OutputSerializer(serializers.Serializer[Any]):
        documents = serializers.IntegerField(help_text="Number of documents retried.")

    @writing("documents_retry", gives=OutputSerializer, status=202)
    def post(self) -> object:
        """Retry all documents that need attention."""
        return {"documents": services.documents_retry(workspace=self.workspace)}


class WorkResumeApi(WorkspaceAPIView):
    """End a pause: a budget was raised, a key changed, or a model is back."""

    class OutputSerializer(serializers.Serializer[Any]):
        jobs = serializers.IntegerField(help_text="Number of jobs resumed.")

    @writing("work_resume", gives=OutputSerializer, status=202)
    def post(self) -> object:
        """Resume paused work, and changes to entities that a failure stopped. Work pauses again if
        the cause still exists.
        """
        return {"jobs": services.work_resume(workspace=self.workspace)}


class DocumentRetryApi(DocumentAPIView):
    """Resume a stopped document where it stopped."""

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        job = serializers.UUIDField()

    @writing("document_retry", gives=OutputSerializer, status=202, errors=(409,))
    def post(self, document_id: UUID) -> object:
        """Retry a document that needs attention."""
        document = self.document(document_id)
        job = services.document_retry(workspace=self.workspace, document=document)
        return {"document": document.pk, "job": job.pk}


class DocumentCancelApi(DocumentAPIView):
    """Stop the work on a document."""

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()

    @writing("document_cancel", gives=OutputSerializer, status=202, errors=(409,))
    def post(self, document_id: UUID) -> object:
        """Stop processing a document at its next step. Finished work is kept."""
        document = self.document(document_id)
        services.document_cancel(workspace=self.workspace, document=document)
        return {"document": document.pk}


class ReadAgainApi(WorkspaceAPIView):
    """Documents that were read with other settings than the workspace has now."""

    class InputSerializer(serializers.Serializer[Any]):
        documents = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            max_length=MOST_FILES,
            help_text="Only these documents; all outdated ones if omitted.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        documents = serializers.IntegerField(help_text="Number of documents being read again.")

    @writing("read_again_estimate", gives=EstimateApi.OutputSerializer)
    def get(self) -> object:
        """Count the documents that were read with other settings, and estimate the cost of reading
        them again.
        """
        return rereading.reading_again_estimate(workspace=self.workspace)

    @writing("read_again", takes=InputSerializer, gives=OutputSerializer, status=202)
    def post(self) -> object:
        """Read documents again that were read with other settings. If there are none, this costs
        nothing.
        """
        documents = self.body().get("documents")
        number = rereading.documents_read_again(workspace=self.workspace, documents=documents)
        return {"documents": number}


class PassageProblemsApi(DocumentAPIView):
    """What a model could not read in a document, and the facts rejected as unsupported."""

    class PassageSerializer(serializers.Serializer[Any]):
        """A passage that the model could not read."""

        chunk = serializers.UUIDField(source="chunk_id")
        number = serializers.IntegerField(help_text="Position in the document, from 1.")
        start = serializers.IntegerField()
        end = serializers.IntegerField()
        page = serializers.IntegerField(allow_null=True)
        heading_path = serializers.ListField(child=serializers.CharField())
        text = serializers.CharField(help_text="The beginning of the passage.")
        problem = serializers.DictField(help_text="`code`, `happened`, `kept` and `next_step`.")

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        total = serializers.IntegerField()
        rejected = serializers.DictField(
            child=serializers.IntegerField(), help_text="Number of rejected facts, by reason."
        )

        def get_fields(self) -> dict[str, Any]:
            fields = super().get_fields()
            return {**fields, "passages": PassageProblemsApi.PassageSerializer(many=True)}

    @reading("passage_problems", gives=OutputSerializer)
    def get(self, document_id: UUID) -> object:
        """List the passages that the model could not read, and count the rejected facts."""
        document = self.document(document_id)
        unread = outcomes.passages_with_problems(workspace=self.workspace, document=document)
        rejected = outcomes.rejections_of(workspace=self.workspace, document=document)
        answer = {"document": document.pk, "total": len(unread), "rejected": rejected}
        return answer | {"passages": unread}


class PassageRetryApi(DocumentAPIView):
    """Read unread passages again."""

    class InputSerializer(serializers.Serializer[Any]):
        chunk = serializers.UUIDField(
            required=False, help_text="A passage; all unread passages if omitted."
        )

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        job = serializers.UUIDField()

    @writing(
        "passage_retry", takes=InputSerializer, gives=OutputSerializer, status=202, errors=(409,)
    )
    def post(self, document_id: UUID) -> object:
        """Retry one unread passage of a document, or all of them."""
        chunk = self.body().get("chunk")
        document = self.document(document_id)
        job = rereading.passages_retry(
            workspace=self.workspace,
            document=document,
            chunk_ids=None if chunk is None else [chunk],
        )
        return {"document": document.pk, "job": job.pk}
