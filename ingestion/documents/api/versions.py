"""The versions of a document: list them, add one, see what changed, make one live again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from ingestion.changes import version_changes
from ingestion.changes.comparison import MOST_TOLD
from ingestion.documents import queries as document_queries
from ingestion.documents import version_queries, versions
from ingestion.history.api_changes import CHANGING, change_of
from ingestion.history.preconditions import IF_MATCH, expected_of, tags_of
from ingestion.models import Document
from kb_project.errors import InputError
from kb_project.http.api import READING
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, once
from workspaces.models import Workspace
from workspaces.requests import ApiRequest


class VersionSerializer(serializers.Serializer[Any]):
    """A version, from ``version_queries.VersionRow``."""

    number = serializers.IntegerField()
    name = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField(source="version.sha256")
    state = serializers.ChoiceField(
        choices=["live", "reading", "failed", "earlier"], help_text="`live` is what is searched."
    )
    may_restore = serializers.BooleanField()
    problem = serializers.DictField(allow_null=True, help_text="Why it could not be read.")
    added_by = serializers.CharField(source="version.added_by.email", default=None)
    created_at = serializers.DateTimeField(source="version.created_at")


class VersionListApi(APIView):
    """The versions of a document."""

    parser_classes = [MultiPartParser, FormParser]

    class InputSerializer(serializers.Serializer[Any]):
        file = serializers.FileField(allow_empty_file=True)

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        live = serializers.IntegerField(help_text="The number of the version that is searched.")
        results = VersionSerializer(many=True)

    @extend_schema(operation_id="version_list", responses={200: OutputSerializer, **READING})
    def get(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """List them, newest first."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        return _listed(workspace, document, status=200)

    @extend_schema(
        operation_id="version_add",
        parameters=[IDEMPOTENCY_KEY, IF_MATCH],
        request={"multipart/form-data": InputSerializer},
        responses={202: OutputSerializer, **CHANGING},
    )
    @once
    def post(self, request: ApiRequest, workspace_id: str, document_id: UUID) -> Response:
        """Add a version. The present one is searched until the new one has been read."""
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        given = request.FILES.get("file")
        if not isinstance(given, UploadedFile):
            raise InputError(
                "No file was sent.",
                code="no_file",
                next_step="Send the new version in the form field 'file'.",
            )
        change = change_of(request, workspace, {}, seen=expected_of(request, document.pk))
        versions.document_replace(
            change=change, document=document, file=given, name=given.name or ""
        )
        return _listed(workspace, document, status=202)


class SaidFactSerializer(serializers.Serializer[Any]):
    """A fact; ``quote`` is found at ``start`` in the version that states it."""

    kind = serializers.ChoiceField(choices=["relationship", "claim"])
    sentence = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # the API's word for it
    predicate = serializers.CharField(allow_blank=True)
    target = serializers.CharField(allow_blank=True)
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    quote = serializers.CharField()


class NamedEntitySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    quote = serializers.CharField()


class PieceSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=["same", "gone", "new"])
    text = serializers.CharField(trim_whitespace=False)


class TextChangeSerializer(serializers.Serializer[Any]):
    """A paragraph, or the number of unchanged ones that were ``skipped``."""

    kind = serializers.ChoiceField(choices=["same", "gone", "new", "changed"])
    start = serializers.IntegerField()
    pieces = PieceSerializer(many=True)
    skipped = serializers.IntegerField()


class AlteredSerializer(serializers.Serializer[Any]):
    before = SaidFactSerializer()
    after = SaidFactSerializer()


class VersionChangesApi(APIView):
    """The changes a version made to the one before."""

    class OutputSerializer(serializers.Serializer[Any]):
        number = serializers.IntegerField()
        against = serializers.IntegerField(allow_null=True)
        state = serializers.ChoiceField(
            choices=["first", "reading", "compared", "unknown"],
            help_text="Facts are filled in once it is `compared`.",
        )
        passages = serializers.DictField(child=serializers.IntegerField())
        totals = serializers.DictField(
            child=serializers.IntegerField(), help_text=f"At most {MOST_TOLD} of each are listed."
        )
        gained = SaidFactSerializer(many=True)
        lost = SaidFactSerializer(many=True)
        altered = AlteredSerializer(many=True)
        entities_gained = NamedEntitySerializer(many=True)
        entities_lost = NamedEntitySerializer(many=True)
        text = TextChangeSerializer(many=True)

    @extend_schema(operation_id="version_changes", responses={200: OutputSerializer, **READING})
    def get(
        self, request: ApiRequest, workspace_id: str, document_id: UUID, number: int
    ) -> Response:
        """Facts gained, lost and altered, and the two texts side by side."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        version = version_queries.version_get(workspace=workspace, document=document, number=number)
        found = version_changes.changes_of(workspace=workspace, version=version)
        facts = found.facts
        answer = {
            "number": found.number,
            "against": found.against,
            "state": found.state,
            "passages": found.passages,
            "totals": facts.totals,
            "gained": facts.gained,
            "lost": facts.lost,
            "altered": [{"before": old, "after": new} for old, new in facts.altered],
            "entities_gained": facts.entities_gained,
            "entities_lost": facts.entities_lost,
            "text": version_changes.text_changes_of(workspace=workspace, version=version),
        }
        return Response(self.OutputSerializer(answer).data)


class VersionRestoreApi(APIView):
    """Make an earlier version live."""

    @extend_schema(
        operation_id="version_restore",
        parameters=[IDEMPOTENCY_KEY, IF_MATCH],
        request=None,
        responses={202: VersionListApi.OutputSerializer, **CHANGING},
    )
    @once
    def post(
        self, request: ApiRequest, workspace_id: str, document_id: UUID, number: int
    ) -> Response:
        """Make an earlier version live. What both versions share stays as it is; nothing is read
        again.
        """
        workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
        document = document_queries.document_get(workspace=workspace, document_id=document_id)
        change = change_of(request, workspace, {}, seen=expected_of(request, document.pk))
        versions.document_revert(change=change, document=document, number=number)
        return _listed(workspace, document, status=202)


def _listed(workspace: Workspace, document: Document, *, status: int) -> Response:
    rows = version_queries.version_rows(workspace=workspace, document=document)
    answer = {"document": document.pk, "live": document.live_number, "results": rows}
    shown = VersionListApi.OutputSerializer(answer).data
    return Response(shown, status=status, headers=tags_of(workspace, document.pk))
