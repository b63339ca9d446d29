"""A workspace with topics to report on, and what its reports say."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

from ingestion.models import (
    Community,
    CommunityMember,
    CommunityReport,
    Entity,
    Finding,
    FindingEvidence,
    IngestionJob,
    JobKind,
)
from ingestion.stage import NO_PROGRESS, Progress, StageOutcome
from ingestion.stages import communities, reports
from kb_project.llm.fake import FakeChat, FakeEmbedder
from kb_project.llm.ports import ChatRequest, ModelOptions
from kb_project.ports import Ports
from tests.memory_graph import MemoryGraphStore
from tests.rows import chunks_of, make_document, make_entity, make_relationship, make_workspace
from workspaces import access
from workspaces.models import Workspace

TEXT = """Scrooge and Marley ran a counting house in the City of London.

Bob Cratchit was the clerk of Scrooge, and he sat in a dismal little cell.

Fred invited Scrooge to Christmas dinner with his wife.

Tiny Tim was the youngest son of Bob Cratchit."""
NAMES = dict.fromkeys(("Scrooge", "Marley", "Bob Cratchit", "Fred", "Tiny Tim"), "person")


def make_community(
    workspace: Workspace,
    members: list[Entity],
    *,
    parent: Community | None = None,
    id_: UUID | None = None,
) -> Community:
    with access.in_workspace(workspace.pk):
        community = Community.objects.create(
            id=id_ or uuid4(),
            workspace=workspace,
            level=parent.level + 1 if parent else 0,
            parent=parent,
            size=len(members),
        )
        CommunityMember.objects.bulk_create(
            CommunityMember(workspace=workspace, community=community, entity=entity)
            for entity in members
        )
    return community


class Carol:
    """A workspace with one document, five people and who had to do with whom."""

    def __init__(self, name: str = "Carol") -> None:
        self.workspace = make_workspace(name)
        self.document = make_document(self.workspace, "Carol", TEXT, names=NAMES)
        self.chunks = chunks_of(self.document)
        people = {name: make_entity(self.workspace, name) for name in NAMES}
        self.scrooge, self.marley, self.bob, self.fred, self.tim = people.values()
        make_relationship(self.scrooge, self.marley, self.chunks[0], "ran")
        make_relationship(self.bob, self.scrooge, self.chunks[1], "was clerk of")
        make_relationship(self.fred, self.scrooge, self.chunks[2], "invited")
        make_relationship(self.tim, self.bob, self.chunks[3], "was son of")
        with access.in_workspace(self.workspace.pk):
            for rank, person in enumerate((self.tim, self.fred, self.bob, self.marley)):
                person.rank = float(rank)
                person.save()
            self.scrooge.rank = 9.0
            self.scrooge.save()

    @property
    def everybody(self) -> list[Entity]:
        return [self.scrooge, self.marley, self.bob, self.fred, self.tim]


def report_of(community: Community) -> CommunityReport:
    with access.in_workspace(community.workspace_id):
        return CommunityReport.objects.in_workspace(community.workspace_id).get(community=community)


def findings_of(community: Community, part: Finding.Part) -> list[Finding]:
    with access.in_workspace(community.workspace_id):
        found = Finding.objects.in_workspace(community.workspace_id)
        return list(found.filter(report__community=community, part=part).order_by("ordinal"))


def mark(workspace: Workspace, *communities: Community) -> None:
    with access.in_workspace(workspace.pk):
        chosen = Community.objects.in_workspace(workspace).filter(
            pk__in=[community.pk for community in communities]
        )
        chosen.update(is_changed=True)


def mark_as_new(workspace: Workspace, *communities: Community) -> None:
    """As if what they are made from had changed."""
    mark(workspace, *communities)
    with access.in_workspace(workspace.pk):
        CommunityReport.objects.in_workspace(workspace).update(digest="")


def marked(workspace: Workspace) -> int:
    with access.in_workspace(workspace.pk):
        return Community.objects.in_workspace(workspace).filter(is_changed=True).count()


def told(request: ChatRequest[Any]) -> dict[str, Any]:
    """A report that refers to the first entity and relationship of its prompt."""
    lines = re.findall(r"^([ERCTP]\d+) (.*)$", request.prompt.user, re.MULTILINE)
    labels = [label for label, _ in lines]
    return {
        "title": f"About {lines[0][1].split(' (')[0]}",
        "summary": f"This is what it says [{labels[0]}].",
        "rating": "7/10",
        "rating_reason": "It is the heart of the tale.",
        "findings": [
            {"summary": "A finding.", "explanation": "It says so.", "references": [label]}
            for label in labels[:3]
        ],
    }


def run(
    workspace: Workspace,
    chat: FakeChat | None,
    progress: Progress = NO_PROGRESS,
    options: ModelOptions | None = None,
) -> StageOutcome:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    ports = Ports(
        embedder=FakeEmbedder(),
        graph=MemoryGraphStore(),
        chat=chat,
        options=options or ModelOptions(),
    )
    return reports.run(job, ports, progress)


def prompts(chat: FakeChat) -> list[str]:
    return [request.prompt.user for request in chat.requests]


def evidence_of(community: Community) -> list[FindingEvidence]:
    with access.in_workspace(community.workspace_id):
        rows = FindingEvidence.objects.in_workspace(community.workspace_id)
        found = rows.filter(finding__report__community=community)
        return list(found.select_related("finding", "chunk").order_by("finding__ordinal", "start"))


def make_belle(carol: Carol) -> Entity:
    """Somebody who has to do with nobody, and is named once."""
    text = "Belle married another."
    make_document(carol.workspace, "Belle", text, names={"Belle": "PERSON"})
    return make_entity(carol.workspace, "Belle")


def describe(carol: Carol, entity: Entity, description: str) -> None:
    with access.in_workspace(carol.workspace.pk):
        rows = Entity.objects.in_workspace(carol.workspace)
        rows.filter(pk=entity.pk).update(description=description)


def problem_of(report: CommunityReport) -> dict[str, str]:
    assert report.problem is not None
    return dict(report.problem)


def reports_in(workspace: Workspace) -> list[CommunityReport]:
    with access.in_workspace(workspace.pk):
        return list(CommunityReport.objects.in_workspace(workspace))


def ids_of(community: Community) -> set[UUID]:
    return {one.pk for one in evidence_of(community)} | {
        one.pk for part in Finding.Part for one in findings_of(community, part)
    }


def indexed(workspace: Workspace, chat: FakeChat) -> dict[UUID, set[UUID]]:
    """Find communities and write their reports; ids of findings and evidence by report."""
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    ports = Ports(embedder=FakeEmbedder(), graph=MemoryGraphStore(), chat=chat)
    communities.run(job, ports, NO_PROGRESS)
    reports.run(job, ports, NO_PROGRESS)
    with access.in_workspace(workspace.pk):
        rows = CommunityReport.objects.in_workspace(workspace).select_related("community")
        return {row.pk: ids_of(row.community) for row in rows}
