"""The REST operations that export the graph and import one."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import MultiPartParser

from ingestion.exchange import exporting, importing, presenters
from ingestion.exchange.plans import Choices, Conflicts
from ingestion.exchange.records import Scope
from ingestion.history.api import correcting
from ingestion.history.recording import REASON_LENGTH
from ingestion.models import GraphImport, ImportState
from kb_project.http.api import ProblemSerializer
from workspaces.api import WorkspaceAPIView, curating, reading

MOST_ENTITIES: Final = 2000
_FILES: Final = dict.fromkeys(
    one.content_type.partition(";")[0] for one in exporting.FORMATS.values()
)


class OwnFormat(BaseContentNegotiation):
    """Leaves the parameter ``format`` to the operation; errors are JSON."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class GraphExportApi(WorkspaceAPIView):
    """The graph as a file."""

    content_negotiation_class = OwnFormat

    class QuerySerializer(serializers.Serializer[Any]):
        format = serializers.ChoiceField(
            choices=list(exporting.FORMATS),
            default="graphml",
            help_text="'csv' is a ZIP archive of both tables.",
        )
        document = serializers.UUIDField(
            required=False, help_text="Only entities that it names, and facts that it states."
        )
        topic = serializers.UUIDField(required=False, help_text="Only entities of the topic.")
        entity = serializers.ListField(
            child=serializers.UUIDField(),
            required=False,
            default=list,
            max_length=MOST_ENTITIES,
            help_text="Only these entities, and facts among them. Repeat it for each.",
        )
        type = serializers.CharField(required=False, default="", max_length=300)
        q = serializers.CharField(
            required=False, default="", max_length=300, help_text="Text in names or aliases."
        )
        terms = serializers.BooleanField(
            default=True, help_text="Whether to include terms, which lists of entities leave out."
        )

    @reading(
        "graph_export",
        query=QuerySerializer,
        gives={(200, one): OpenApiResponse(OpenApiTypes.BINARY, "The file.") for one in _FILES},
        errors=(403,),
    )
    def get(self) -> object:
        """Export entities and facts with evidence and provenance, all of them or a part."""
        wanted = self.query()
        scope = Scope(
            document=wanted.get("document"),
            topic=wanted.get("topic"),
            entities=tuple(wanted["entity"]),
            type=wanted["type"],
            text=wanted["q"],
            terms=wanted["terms"],
        )
        return exporting.graph_export(
            workspace=self.workspace, user=self.request.user, format=wanted["format"], scope=scope
        )


class GraphImportSerializer(serializers.Serializer[Any]):
    """An import, before it is confirmed and after."""

    id = serializers.UUIDField(source="pk")
    name = serializers.CharField(help_text="The file's name.")
    format = serializers.CharField()
    state = serializers.ChoiceField(choices=ImportState.choices)
    outcome = serializers.CharField(help_text="How it ended, '' before that.")
    counts = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Rows by outcome ('entities_new', 'facts_left_out', …), and what is created.",
    )
    event = serializers.UUIDField(
        source="event_id", allow_null=True, help_text="The change in the history; undo it there."
    )
    problem = ProblemSerializer(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class PlannedEntitySerializer(serializers.Serializer[Any]):
    row = serializers.IntegerField()
    name = serializers.CharField()
    type = serializers.CharField()
    reason = serializers.CharField()
    entity = serializers.UUIDField(
        source="other", allow_null=True, help_text="The entity here that it becomes, or may be."
    )


class PlannedFactSerializer(serializers.Serializer[Any]):
    row = serializers.IntegerField()
    source = serializers.CharField()  # type: ignore[assignment]  # the API's word for it
    target = serializers.CharField()
    predicates = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField()


class EntityGroupSerializer(serializers.Serializer[Any]):
    outcome = serializers.CharField()
    total = serializers.IntegerField()
    rows = PlannedEntitySerializer(many=True, help_text="The first of them.")


class FactGroupSerializer(serializers.Serializer[Any]):
    outcome = serializers.CharField()
    total = serializers.IntegerField()
    rows = PlannedFactSerializer(many=True, help_text="The first of them.")


class GraphImportPreviewSerializer(GraphImportSerializer):
    summary = serializers.CharField(help_text="What the import would create.")
    notes = serializers.ListField(child=serializers.CharField())
    entities = EntityGroupSerializer(many=True)
    facts = FactGroupSerializer(many=True)


class ChoicesSerializer(serializers.Serializer[Any]):
    conflicts = serializers.ChoiceField(
        choices=[one.value for one in Conflicts],
        default=Conflicts.LEAVE_OUT.value,
        help_text="What becomes of entities that may or may not be one that is here: leave them"
        " out, match them with it, or create separate ones of the same name.",
    )
    makes_missing = serializers.BooleanField(
        default=False, help_text="Create entities that only facts name."
    )


class ConfirmationSerializer(ChoicesSerializer):
    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=REASON_LENGTH
    )


class GraphImportListApi(WorkspaceAPIView):
    """Imports of graphs."""

    parser_classes = [MultiPartParser]

    class OutputSerializer(serializers.Serializer[Any]):
        results = GraphImportSerializer(many=True)

    class InputSerializer(serializers.Serializer[Any]):
        file = serializers.FileField(help_text="GraphML, node-link JSON, or CSV.")

    @curating("graph_import_list", gives=OutputSerializer)
    def get(self) -> object:
        """List the latest imports."""
        return {"results": [_shown(row) for row in importing.imports_of(workspace=self.workspace)]}

    @curating(
        "graph_import_create",
        takes=InputSerializer,
        media_types=("multipart/form-data",),
        gives=GraphImportPreviewSerializer,
        status=201,
    )
    def post(self) -> object:
        """Upload a file and preview its import. Nothing is imported until you confirm it."""
        file = self.body()["file"]
        row = importing.import_upload(
            workspace=self.workspace,
            user=self.request.user,
            file=file,
            name=file.name or "",
            via="api",
        )
        return _preview(self, row, Choices())


class GraphImportApi(WorkspaceAPIView):
    """One import."""

    @curating("graph_import", query=ChoicesSerializer, gives=GraphImportPreviewSerializer)
    def get(self, import_id: UUID) -> object:
        """View an import: until it is confirmed, what these choices would create."""
        row = importing.import_get(workspace=self.workspace, import_id=import_id)
        return _preview(self, row, importing.choices_of(self.query()))

    @correcting(
        "graph_import_confirm",
        takes=ConfirmationSerializer,
        gives=GraphImportSerializer,
        status=202,
    )
    def post(self, import_id: UUID) -> object:
        """Confirm an import. It runs in the background; its event undoes all of it at once."""
        wanted = self.body()
        row = importing.import_confirm(
            workspace=self.workspace,
            user=self.request.user,
            import_id=import_id,
            choices=importing.choices_of(wanted),
            reason=wanted.get("reason", ""),
        )
        return _shown(row)

    @curating("graph_import_discard", status=204, errors=(409,))
    def delete(self, import_id: UUID) -> None:
        """Discard a file that was not imported, or forget an import that has ended."""
        importing.import_discard(workspace=self.workspace, import_id=import_id)


def _shown(row: GraphImport) -> GraphImport:
    row.outcome = presenters.outcome_of(row)  # type: ignore[attr-defined]  # read by the serializer
    return row


def _preview(view: WorkspaceAPIView, row: GraphImport, choices: Choices) -> dict[str, Any]:
    context = presenters.import_context(workspace=view.workspace, row=row, choices=choices)
    shown = dict(GraphImportSerializer(_shown(row)).data)
    shown |= {"pk": row.pk, "event_id": row.event_id}
    if "plan" in context:
        shown["counts"] = context["plan"].counts
    tables = dict(context.get("tables", ()))
    return shown | {
        "summary": context.get("summary", ""),
        "notes": context.get("notes", []),
        "entities": tables.get("Entities", []),
        "facts": tables.get("Facts", []),
    }
