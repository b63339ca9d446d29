"""A workspace with at least one row in every table of ingestion."""

from __future__ import annotations

from dataclasses import dataclass

from ingestion.models import (
    ArchivedChunk,
    ArchivedExtraction,
    ArchivedPosting,
    ArchivedSentenceVector,
    ArchivedVector,
    Cell,
    CellIndex,
    Chunk,
    ChunkExtraction,
    Claim,
    ClaimRuling,
    Clustering,
    Collection,
    CollectionGrant,
    CommonTerms,
    Community,
    CommunityReport,
    Conflict,
    ConflictRuling,
    ConflictSide,
    ConsistencyCheck,
    CorpusVersion,
    Document,
    DocumentVersion,
    Entity,
    EntityPosition,
    EntityRuling,
    Fragment,
    GraphImport,
    GraphTombstone,
    HiddenName,
    HistoryEvent,
    HistorySubject,
    IngestionJob,
    LoneDocument,
    MentionPlacement,
    MergeSuggestion,
    NameChange,
    Relationship,
    RelationshipRuling,
    ResolutionDecision,
    SentenceVector,
    StageRun,
    StructureState,
    SuggestionSkip,
    SuggestionState,
    SummaryEdge,
    SummaryLayout,
    SummaryNode,
    SummaryTree,
    TopicBridge,
    TopicStanding,
    TopicWatch,
)
from kb_project.llm.fake import FakeEmbedder
from tests import rows
from workspaces import access
from workspaces.models import Group, Membership, Workspace

TEXT = "Ada Lind keeps the light of Skarrow.\n\nOlaf Brekke rows to Skarrow."


@dataclass(frozen=True)
class Whole:
    """The workspace and those of its rows that tests point at."""

    workspace: Workspace
    collection: Collection
    document: Document
    version: DocumentVersion
    chunk: Chunk
    ada: Entity
    olaf: Entity
    relationship: Relationship
    parent: Community
    report: CommunityReport
    job: IngestionJob


def make_whole(name: str = "Harbour") -> Whole:
    workspace = rows.make_workspace(name)
    collection = rows.make_collection(workspace, "Logs")
    document = rows.make_document(
        workspace, "Log", TEXT, embedder=FakeEmbedder(8), collection=collection
    )
    chunks = rows.chunks_of(document)
    ada = rows.make_mentions(workspace, chunks, "Ada Lind")
    olaf = rows.make_mentions(workspace, chunks, "Olaf Brekke")
    relationship = rows.make_relationship(ada, olaf, chunks[0], "knows")
    report = rows.make_report(workspace, "The light", [ada, olaf], chunks)
    rows.make_snapshot(workspace)
    with access.in_workspace(workspace.pk):
        version = DocumentVersion.objects.in_workspace(workspace).get(document=document)
        CorpusVersion.objects.create(workspace=workspace, number=1)
        CommonTerms.objects.create(workspace=workspace, terms=[], passages=[], of_passages=1)
        ConsistencyCheck.objects.create(workspace=workspace)
        ChunkExtraction.objects.create(workspace=workspace, chunk=chunks[0], method="m", payload={})
        _make_vectors(chunks[0])
        MergeSuggestion.objects.create(
            workspace=workspace, left=ada, right=olaf, score=0.5, reason="alike"
        )
        SuggestionSkip.objects.create(
            workspace=workspace, user=rows.make_user("Alice"), case=ada.pk
        )
        GraphTombstone.objects.create(workspace=workspace)
        group = Group.objects.create(workspace=workspace, name="Crew")
        CollectionGrant.objects.create(workspace=workspace, collection=collection, group=group)
        _make_watch(report)
        _make_statements(document, chunks[0], ada, olaf)
        _make_tree(document, chunks[0])
        _make_history(document, ada)
        _make_shelf(version)
        parent = _make_parent(report)
        _make_structure(report, parent, ada)
        LoneDocument.objects.create(workspace=workspace, document=document, names=2)
        job = _make_job(version)
    return Whole(
        workspace, collection, document, version, chunks[0], ada, olaf, relationship, parent,
        report, job,
    )  # fmt: skip


def _make_job(version: DocumentVersion) -> IngestionJob:
    row = {"workspace": version.workspace}
    job = IngestionJob.objects.create(
        **row, kind="document", document=version.document, version=version
    )
    StageRun.objects.create(**row, job=job, stage="parse", ordinal=0)
    NameChange.objects.create(**row, job=job, keys=["mercury"])
    return job


def _make_statements(document: Document, chunk: Chunk, ada: Entity, olaf: Entity) -> None:
    """What models say: of an entity, of what is so, and of two names."""
    place = {"chunk": chunk, "document": document, "start": 0, "end": 36}
    workspace = document.workspace
    Fragment.objects.create(workspace=workspace, entity=ada, text="Keeps the light.", **place)
    EntityPosition.objects.create(workspace=workspace, entity=ada, x=0, y=1)
    Claim.objects.create(
        workspace=workspace, subject=ada, object=olaf, type="keeping", status="true",
        description="Ada keeps the light.", **place,
    )  # fmt: skip
    conflict = Conflict.objects.create(
        workspace=workspace, subject=ada, kind="values", about="a", topic="height"
    )
    for ordinal, key in enumerate(("number:1|1|length|m", "number:2|1|length|m")):
        ConflictSide.objects.create(
            workspace=workspace, conflict=conflict, ordinal=ordinal, value=key[7], key=key, **place
        )
    ResolutionDecision.objects.create(
        workspace=workspace, left_key="ada lind", document=document, verdict="same", by="model"
    )


def _make_watch(report: CommunityReport) -> None:
    member = Membership.objects.create(
        workspace_id=report.workspace_id, user=rows.make_user("Wanda"), capabilities=["read"]
    )
    TopicWatch.objects.create(
        workspace_id=report.workspace_id,
        membership=member,
        place=report.workspace_id,
        topic=report.community_id,
    )


def _make_history(document: Document, ada: Entity) -> None:
    """What somebody did, and what is read otherwise since."""
    workspace = document.workspace
    event = HistoryEvent.objects.create(workspace=workspace, sequence=1, kind="entity_split")
    HistorySubject.objects.create(
        workspace=workspace, event=event, subject_id=ada.pk, kind="entity", sequence=1
    )
    GraphImport.objects.create(
        workspace=workspace, name="ada.csv", format="csv", payload=b"", event=event
    )
    change = {"workspace": workspace, "event": event, "sequence": 1}
    MentionPlacement.objects.create(**change, key=ada.key, document=document, target_key="ada")
    EntityRuling.objects.create(**change, key="ada", field="created")
    HiddenName.objects.create(workspace=workspace, document=document, key="the light")
    RelationshipRuling.objects.create(
        **change, source_key="ada", target_key="olaf", field="created"
    )
    ConflictRuling.objects.create(**change, key="ada", about="a", verdict="both", known=["x"])
    ClaimRuling.objects.create(
        **change, document=document, key="ada", quote="q", words="w", field="deleted"
    )


def _make_vectors(chunk: Chunk) -> None:
    """Those of a sentence, and the cells of a large workspace."""
    row = {"workspace": chunk.workspace, "fingerprint": "f"}
    SentenceVector.objects.create(**row, chunk=chunk, start=0, end=36, vector=[1, 0])
    Cell.objects.create(**row, number=0, centre=[1, 0])
    CellIndex.objects.create(**row, vectors=1)


def _make_shelf(version: DocumentVersion) -> None:
    """What was put away: nothing of it is among what is searched."""
    workspace = version.workspace
    chunk = ArchivedChunk.objects.create(
        workspace=workspace, document_id=version.document_id, version=version, ordinal=0, start=0,
        end=9, text="Put away.", tokens=2,
    )  # fmt: skip
    row = {"workspace": workspace, "chunk": chunk}
    ArchivedExtraction.objects.create(**row, method="m", payload={})
    ArchivedPosting.objects.create(**row, term="away", frequency=1, length=1)
    ArchivedVector.objects.create(**row, fingerprint="f", vector=[1, 0])
    ArchivedSentenceVector.objects.create(**row, start=0, end=9, fingerprint="f", vector=[1, 0])


def _make_tree(document: Document, chunk: Chunk) -> None:
    node = SummaryNode.objects.create(
        workspace=document.workspace, document=document, layer=1, digest="d", text="A log.",
        tokens=2, fingerprint="f", vector=[1, 0],
    )  # fmt: skip
    SummaryEdge.objects.create(workspace=document.workspace, parent=node, chunk=chunk)
    SummaryTree.objects.create(
        workspace=document.workspace, document=document, root=node, digest="d", writer="w",
        fingerprint="f", layers=1, nodes=1,
    )  # fmt: skip
    SummaryLayout.objects.create(
        workspace=document.workspace, document=document, fingerprint="f",
        layout={"layers": [], "joined": []},
    )  # fmt: skip


def _make_structure(report: CommunityReport, other: Community, ada: Entity) -> None:
    """Who stands out in the topic, and what joins it with another."""
    community, workspace = report.community, ada.workspace
    figures = {"facts": 1, "passages": 1, "documents": 1}
    TopicStanding.objects.create(
        workspace=workspace, community=community, kind="central", entity=ada, place=1, **figures
    )
    TopicBridge.objects.create(
        workspace=workspace, entity=ada, community=community, other=other, facts=1, of_facts=2
    )
    StructureState.objects.create(workspace=workspace, digest="d", seconds=0.1)
    SuggestionState.objects.create(workspace=workspace, digests=b"8 bytes.", seconds=6.0)


def _make_parent(report: CommunityReport) -> Community:
    """A community above the one that is reported on."""
    parent = Community.objects.create(workspace_id=report.workspace_id, level=0, size=2)
    Clustering.objects.create(
        workspace_id=report.workspace_id, entities=2, roots=0.5, finest=0.5, largest=2, beside=0
    )
    Community.objects.in_workspace(report.workspace_id).filter(pk=report.community_id).update(
        parent=parent, level=1
    )
    return parent
