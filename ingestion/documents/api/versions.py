"""The versions of a document: list, add or estimate one, see what changed, make one live again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from rest_framework import serializers
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.response import Response

from ingestion.changes import version_changes
from ingestion.changes.comparison import MOST_LISTED
from ingestion.documents import queries, trial_reading, versions
from ingestion.documents.api.documents import DocumentAPIView
from ingestion.documents.api.processing import EstimateApi
from ingestion.history.api import IF_MATCH, change_of, changing, tags_of
from ingestion.models import Document
from kb_project.errors import InputError
from workspaces.api import WaitingAPIView, WorkspaceAPIView, reading, writing


class VersionSerializer(serializers.Serializer[Any]):
    """A version of a document."""

    number = serializers.IntegerField()
    name = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField(source="version.sha256")
    state = serializers.ChoiceField(
        choices=["live", "reading", "failed", "earlier"],
        help_text="`live`: the version that is searched.",
    )
    may_restore = serializers.BooleanField()
    problem = serializers.DictField(allow_null=True, help_text="Why it could not be read.")
    added_by = serializers.CharField(source="version.added_by", default=None, allow_null=True)
    created_at = serializers.DateTimeField(source="version.created_at")


class VersionListApi(DocumentAPIView):
    """The versions of a document."""

    parser_classes = [MultiPartParser, FormParser]

    class InputSerializer(serializers.Serializer[Any]):
        file = serializers.FileField(allow_empty_file=True)

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        live = serializers.IntegerField(help_text="Number of the live version.")
        results = VersionSerializer(many=True)

    @reading("version_list", gives=OutputSerializer)
    def get(self, document_id: UUID) -> object:
        """List a document's versions, newest first."""
        return _listed(self, self.document(document_id))

    @changing(
        "version_add",
        takes=InputSerializer,
        media_types=("multipart/form-data",),
        gives=OutputSerializer,
        status=202,
        parameters=(IF_MATCH,),
    )
    def post(self, document_id: UUID) -> object:
        """Add a version. The live version is searched until the new one has been read."""
        document = self.document(document_id)
        given = _file_of(self)
        change, _ = change_of(self, seen=document.pk)
        versions.document_replace(
            change=change, document=document, file=given, name=given.name or ""
        )
        return _listed(self, document)


class VersionEstimateApi(WaitingAPIView):
    """The estimated cost of adding a version."""

    parser_classes = [MultiPartParser, FormParser]

    @writing(
        "version_estimate",
        takes=VersionListApi.InputSerializer,
        media_types=("multipart/form-data",),
        gives=EstimateApi.OutputSerializer,
        errors=(409, 422),
    )
    def post(self, document_id: UUID) -> object:
        """Read a file as the document's next version, and estimate what is new in it. The file is
        not kept.
        """
        given = _file_of(self)
        return trial_reading.replacement_estimate(
            workspace=self.workspace, document_id=document_id, file=given, name=given.name or ""
        )


class SaidFactSerializer(serializers.Serializer[Any]):
    """A fact. ``quote`` begins at ``start`` in the text of the version that states it."""

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
    """A paragraph, or the number of unchanged paragraphs that were ``skipped``."""

    kind = serializers.ChoiceField(choices=["same", "gone", "new", "changed"])
    start = serializers.IntegerField()
    pieces = PieceSerializer(many=True)
    skipped = serializers.IntegerField()


class AlteredSerializer(serializers.Serializer[Any]):
    before = SaidFactSerializer()
    after = SaidFactSerializer()


class VersionChangesApi(DocumentAPIView):
    """The changes a version made to the one before."""

    class OutputSerializer(serializers.Serializer[Any]):
        number = serializers.IntegerField()
        against = serializers.IntegerField(allow_null=True)
        state = serializers.ChoiceField(
            choices=["first", "reading", "compared", "unknown"],
            help_text="Facts are listed once this is `compared`.",
        )
        passages = serializers.DictField(child=serializers.IntegerField())
        totals = serializers.DictField(
            child=serializers.IntegerField(),
            help_text=f"Counts of all changes; at most {MOST_LISTED} of each kind are listed.",
        )
        gained = SaidFactSerializer(many=True)
        lost = SaidFactSerializer(many=True)
        altered = AlteredSerializer(many=True)
        entities_gained = NamedEntitySerializer(many=True)
        entities_lost = NamedEntitySerializer(many=True)
        text = TextChangeSerializer(many=True)

    @reading("version_changes", gives=OutputSerializer)
    def get(self, document_id: UUID, number: int) -> object:
        """Compare a version with the one before: facts gained, lost and altered, and both texts."""
        document = self.document(document_id)
        version = queries.version_get(workspace=self.workspace, document=document, number=number)
        found = version_changes.changes_of(workspace=self.workspace, version=version)
        facts = found.facts
        return {
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
            "text": version_changes.text_changes_of(workspace=self.workspace, version=version),
        }


class VersionRestoreApi(DocumentAPIView):
    """Make an earlier version live."""

    @changing(
        "version_restore", gives=VersionListApi.OutputSerializer, status=202, parameters=(IF_MATCH,)
    )
    def post(self, document_id: UUID, number: int) -> object:
        """Make an earlier version live. It is not read again."""
        document = self.document(document_id)
        change, _ = change_of(self, seen=document.pk)
        versions.document_revert(change=change, document=document, number=number)
        return _listed(self, document)


def _file_of(view: WorkspaceAPIView) -> UploadedFile:
    given = view.request.FILES.get("file")
    if not isinstance(given, UploadedFile):
        raise InputError(
            "No file was sent.",
            code="no_file",
            next_step="Send the new version in the form field 'file'.",
        )
    return given


def _listed(view: WorkspaceAPIView, document: Document) -> Response:
    rows = queries.version_rows(workspace=view.workspace, document=document)
    listed = {"document": document.pk, "live": document.live_number, "results": rows}
    return view.answer(listed, tags_of(view.workspace, document.pk))
