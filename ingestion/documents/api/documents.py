"""The REST operations on documents: add and list them, view one, its text and its summaries."""

from __future__ import annotations

from typing import Any, Final, cast
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.urls import reverse
from rest_framework import serializers
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.response import Response

from ingestion.documents import outcomes, queries, services
from ingestion.documents.queries import document_get
from ingestion.documents.services import Filing
from ingestion.history.api import tags_of
from ingestion.knowledge import insights, summaries
from ingestion.knowledge.spans import SourceSpanSerializer
from ingestion.models import Document, DocumentState
from ingestion.pipeline import workspace_jobs
from kb_project.errors import ConflictError, InputError, QuotaError, UploadError
from kb_project.http.api import PageInput, PageOutput, ProblemSerializer, page_of
from kb_project.http.problems import problem
from workspaces.api import ApiRequest, WorkspaceAPIView, checked, reading, writing
from workspaces.models import Workspace
from workspaces.usage.queries import usage_of_document

MOST_CHARACTERS: Final = 100_000


class StageSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    state = serializers.CharField()
    share = serializers.FloatField(help_text="Share completed, 0 to 1.")


class DocumentSerializer(serializers.Serializer[Any]):
    """A document and its processing state."""

    id = serializers.UUIDField(source="document.pk")
    title = serializers.CharField(source="document.title")
    name = serializers.CharField(source="document.name")
    media_type = serializers.CharField(source="document.media_type")
    size = serializers.IntegerField(source="document.size", help_text="Bytes.")
    collection = serializers.CharField(
        source="document.collection.name", default=None, allow_null=True
    )
    tags = serializers.ListField(child=serializers.CharField(), source="document.tags")
    dated = serializers.DateField(source="document.dated", allow_null=True)
    state = serializers.ChoiceField(choices=DocumentState.choices, source="document.state")
    is_searched = serializers.BooleanField(
        source="document.is_live", help_text="False if disabled or in the trash."
    )
    disabled_at = serializers.DateTimeField(
        source="document.disabled_at", allow_null=True, help_text="When it was disabled, if it is."
    )
    trashed_at = serializers.DateTimeField(
        source="document.trashed_at",
        allow_null=True,
        help_text="When it was moved to the trash, if it is there.",
    )
    share = serializers.FloatField(help_text="Share of all stages completed, 0 to 1.")
    has_words = serializers.BooleanField(help_text="Whether keyword search can find it yet.")
    has_vectors = serializers.BooleanField(
        help_text="Whether its latest reading has made all vectors."
    )
    chunks = serializers.IntegerField()
    warnings = serializers.ListField(child=serializers.CharField())
    problem = serializers.DictField(allow_null=True, help_text="Why processing stopped or paused.")
    version = serializers.IntegerField(
        source="document.live_number", help_text="Number of the live version."
    )
    created_at = serializers.DateTimeField(source="document.created_at")
    updated_at = serializers.DateTimeField(source="document.updated_at")


class IntakeOutputSerializer(serializers.Serializer[Any]):
    # ``document`` is the existing one with the file's content, if there is one.
    name = serializers.CharField()
    outcome = serializers.ChoiceField(
        choices=["added", "duplicate", "in_trash", "refused"],
        help_text="`in_trash`: a document in the trash has the same content and can be restored.",
    )
    document = serializers.UUIDField(allow_null=True)
    state = serializers.CharField(allow_null=True)
    job = serializers.UUIDField(allow_null=True)
    url = serializers.CharField(allow_null=True, help_text="URL to poll for progress.")
    problem = ProblemSerializer(allow_null=True)


class DocumentAPIView(WorkspaceAPIView):
    """A view of one document."""

    def document(self, document_id: UUID) -> Document:
        """Return the document. Raises NotFoundError."""
        return queries.document_get(workspace=self.workspace, document_id=document_id)


class ChangeSerializer(serializers.Serializer[Any]):
    """How far a worker is with a change that concerns many documents."""

    done = serializers.IntegerField(help_text="Documents in which the change is applied.")
    total = serializers.IntegerField(help_text="Documents it concerns, 0 until they are counted.")
    has_stopped = serializers.BooleanField(help_text="It failed; 'documents/resume/' continues it.")


class DocumentListApi(WorkspaceAPIView):
    """The documents of a workspace."""

    parser_classes = [MultiPartParser, FormParser]

    class QuerySerializer(PageInput):
        q = serializers.CharField(
            required=False, default="", help_text="Text to find in the title or file name."
        )
        state = serializers.ChoiceField(
            choices=DocumentState.choices, required=False, default="", allow_blank=True
        )
        tag = serializers.CharField(required=False, default="")
        collection = serializers.CharField(required=False, default="", help_text="Name or id.")
        media_type = serializers.CharField(required=False, default="")
        alone = serializers.BooleanField(
            default=False, help_text="Only documents that share no entity with any other."
        )

    class OutputSerializer(PageOutput):
        results = DocumentSerializer(many=True)
        change = ChangeSerializer(
            allow_null=True,
            help_text="The latest change to names and facts that is not applied everywhere.",
        )

    class InputSerializer(serializers.Serializer[Any]):
        file = serializers.ListField(child=serializers.FileField(), help_text="One or more files.")
        collection = serializers.CharField(required=False, default="", allow_blank=True)
        tag = serializers.ListField(child=serializers.CharField(), required=False, default=list)
        dated = serializers.DateField(required=False, default=None, allow_null=True)

    class AddedSerializer(serializers.Serializer[Any]):
        total = serializers.IntegerField()
        added = serializers.IntegerField()
        documents = IntakeOutputSerializer(many=True)

    @reading("document_list", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """List documents, newest first."""
        wanted = self.query()
        number, size, text = wanted.pop("page"), wanted.pop("page_size"), wanted.pop("q")
        found = queries.documents(workspace=self.workspace, text=text, **wanted)
        page = page_of(found, page=number, page_size=size)
        rows = queries.document_rows(workspace=self.workspace, documents=page.results)
        return page.of(rows) | {"change": workspace_jobs.change_work(self.workspace.pk)}

    @writing(
        "document_add",
        takes=InputSerializer,
        media_types=("multipart/form-data",),
        gives=AddedSerializer,
        status=202,
        errors=(409,),
        is_once=True,
    )
    def post(self) -> object:
        """Add one or more files. Poll each document's ``url`` to follow its progress."""
        values = checked(self.InputSerializer, _form(self.request))
        filing = Filing(values["collection"], tuple(values["tag"]), values["dated"])
        files = values["file"]
        intakes = [self._intake(file, filing, is_only=len(files) == 1) for file in files]
        added = [intake for intake in intakes if intake["outcome"] == "added"]
        return {"total": len(intakes), "added": len(added), "documents": intakes}

    def _intake(self, file: UploadedFile, filing: Filing, *, is_only: bool) -> dict[str, Any]:
        """Add one file. Raises UploadError or QuotaError if the only file is refused."""
        name = file.name or ""
        intake = dict.fromkeys(("document", "state", "job", "url", "problem"))
        try:
            upload = services.document_upload(
                workspace=self.workspace,
                file=file,
                name=name,
                user=self.request.user,
                filing=filing,
            )
        except (UploadError, QuotaError) as error:
            if is_only:
                raise
            refused = {"name": services.label_of(name), "outcome": "refused"}
            return intake | refused | {"problem": problem(error)}
        row = queries.document_row(workspace=self.workspace, document_id=upload.document.pk)
        twin = "in_trash" if upload.is_in_trash else "duplicate"
        return intake | {
            "name": row.document.name,
            "outcome": twin if upload.is_duplicate else "added",
            "document": row.document.pk,
            "state": row.document.state,
            "job": row.job.pk if row.job else None,
            "url": reverse("ingestion_api:document", args=[self.workspace.pk, row.document.pk]),
        }


class UsageSerializer(serializers.Serializer[Any]):
    """Model usage for a document."""

    calls = serializers.IntegerField()
    cached = serializers.IntegerField(help_text="Calls answered from the cache at no cost.")
    failed = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost = serializers.FloatField()


class DocumentApi(DocumentAPIView):
    """One document."""

    class OutputSerializer(DocumentSerializer):
        stages = StageSerializer(many=True)
        job = serializers.UUIDField(allow_null=True)
        entities = serializers.IntegerField(help_text="Number of entities it names.")
        relationships = serializers.IntegerField(help_text="Number of relationships it supports.")
        language = serializers.CharField()
        parser = serializers.CharField()
        encoding = serializers.CharField()
        pages = serializers.IntegerField()
        characters = serializers.IntegerField()
        usage = UsageSerializer()
        mentions_alone = serializers.IntegerField(
            allow_null=True,
            help_text="If no other document mentions any of its entities: how many it mentions.",
        )

    @reading("document", gives=OutputSerializer)
    def get(self, document_id: UUID) -> object:
        """View a document and its processing state."""
        row = queries.document_row(workspace=self.workspace, document_id=document_id)
        body = DocumentSerializer(row).data | _with_counts(self.workspace, row)
        return Response(body, headers=tags_of(self.workspace, document_id))


class DocumentTextApi(DocumentAPIView):
    """The text read from a document. All offsets in the API count its characters."""

    class QuerySerializer(serializers.Serializer[Any]):
        start = serializers.IntegerField(min_value=0, default=0)
        end = serializers.IntegerField(
            min_value=0, required=False, help_text=f"At most {MOST_CHARACTERS:,} after the start."
        )
        version = serializers.IntegerField(
            min_value=1,
            max_value=2**31 - 1,
            required=False,
            help_text="The version a citation refers to; the live version if omitted.",
        )

    class OutputSerializer(serializers.Serializer[Any]):
        document = serializers.UUIDField()
        version = serializers.IntegerField()
        start = serializers.IntegerField()
        end = serializers.IntegerField()
        total = serializers.IntegerField(help_text="Length of the whole text.")
        text = serializers.CharField(trim_whitespace=False)

    @reading("document_text", query=QuerySerializer, gives=OutputSerializer, errors=(409,))
    def get(self, document_id: UUID) -> object:
        """Return part of a document's text."""
        wanted = self.query()
        document = self.document(document_id)
        number = wanted.pop("version", None)
        version = queries.version_get(workspace=self.workspace, document=document, number=number)
        if version.parsed_at is None:
            raise ConflictError(
                f"'{document.title}' has not been read yet.",
                code="not_read_yet",
                next_step="Try again when its state is 'ready'.",
            )
        start, end = _stretch(len(version.text), **wanted)
        text = version.text[start:end]
        answer = {"document": document.pk, "start": start, "end": end, "text": text}
        answer["version"] = version.number
        return answer | {"total": len(version.text)}


def _form(request: ApiRequest) -> dict[str, Any]:
    """Return the form's fields, repeatable ones as lists, without empty ones."""
    data = cast(QueryDict, request.data)  # what the form parsers make
    if not request.FILES.getlist("file"):
        raise InputError(
            "No file was sent.",
            code="no_file",
            next_step="Send one or more files in the form field 'file'.",
        )
    fields = {name: value for name, value in data.items() if value}
    tags = [tag for given in data.getlist("tag") for tag in given.split(",")]
    return {**fields, "tag": tags, "file": request.FILES.getlist("file")}


def _with_counts(workspace: Workspace, row: queries.DocumentRow) -> dict[str, Any]:
    version = queries.version_get(workspace=workspace, document=row.document)
    [outcome] = outcomes.document_outcomes(workspace=workspace, document_ids=[row.document.pk])
    return {
        "stages": StageSerializer(row.steps, many=True).data,
        "job": row.job.pk if row.job else None,
        "entities": outcome.entities,
        "relationships": outcome.relationships,
        "language": version.language,
        "parser": version.parser,
        "encoding": version.encoding,
        "pages": len(version.pages),
        "characters": len(version.text),
        "usage": UsageSerializer(
            usage_of_document(workspace=workspace, document_id=row.document.pk)
        ).data,
        "mentions_alone": insights.names_alone(workspace=workspace, document_id=row.document.pk),
    }


def _stretch(length: int, *, start: int, end: int | None = None) -> tuple[int, int]:
    """Clamp the requested offsets to the text and the limit. Raises InputError.

    >>> _stretch(10, start=4), _stretch(10, start=4, end=99)
    ((4, 10), (4, 10))
    """
    if end is not None and end < start:
        raise InputError("'end' is before 'start'.", code="invalid_range")
    first = min(start, length)
    return first, min(length if end is None else end, length, first + MOST_CHARACTERS)


# --- summary trees --------------------------------------------------------------------------------
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
