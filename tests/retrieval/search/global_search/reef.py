"""A workspace with topics, half of them about lights and half about roads."""

from __future__ import annotations

from uuid import UUID

from django.utils import timezone

from ingestion.models import (
    Chunk,
    Community,
    CommunityMember,
    CommunityReport,
    Document,
    Entity,
    Finding,
    FindingEvidence,
)
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import ChatModel
from retrieval.search.query import Query, QuestionVector
from tests import rows
from workspaces import access

EMBEDDER = FakeEmbedder()


class Reef:
    """Documents of one passage each, and topics over them."""

    def __init__(self, name: str = "Reef") -> None:
        self.workspace = rows.make_workspace(name)
        self.documents: dict[str, Document] = {}
        self.chunks: dict[str, Chunk] = {}

    def document(self, title: str, text: str, *names: str) -> Entity:
        """A document that names somebody; the first of ``names``."""
        kinds = dict.fromkeys(names or (title,), "person")
        made = rows.make_document(self.workspace, title, text, names=kinds, embedder=EMBEDDER)
        self.documents[title] = made
        self.chunks[title] = rows.chunks_of(made)[0]
        return rows.make_entity(self.workspace, next(iter(kinds)))

    def topic(
        self,
        title: str,
        findings: dict[str, list[str]],
        members: list[Entity],
        parent: CommunityReport | None = None,
        summary: str = "",
    ) -> CommunityReport:
        """A report; ``findings`` are texts with the titles of the documents they rest on."""
        with access.in_workspace(self.workspace.pk):
            above = parent.community if parent else None
            community = Community.objects.create(
                workspace=self.workspace,
                level=above.level + 1 if above else 0,
                parent=above,
                size=len(members),
            )
            CommunityMember.objects.bulk_create(
                CommunityMember(workspace=self.workspace, community=community, entity=one)
                for one in members
            )
            report = CommunityReport.objects.create(
                workspace=self.workspace,
                community=community,
                title=title,
                summary=summary or f"About {title}.",
                rating=5,
                created_at=timezone.now(),
            )
            for ordinal, (text, titles) in enumerate(findings.items()):
                self._finding(report, ordinal, text, titles)
        return report

    def _finding(self, report: CommunityReport, ordinal: int, text: str, titles: list[str]) -> None:
        finding = Finding.objects.create(
            workspace=self.workspace,
            report=report,
            part=Finding.Part.FINDING,
            ordinal=ordinal,
            summary=text,
        )
        for title in titles:
            chunk = self.chunks[title]
            FindingEvidence.objects.create(
                workspace=self.workspace,
                finding=finding,
                report_id=finding.report_id,
                chunk=chunk,
                document_id=chunk.document_id,
                start=chunk.start,
                end=chunk.end,
            )

    def query(
        self,
        question: str,
        *,
        chat: ChatModel | None = None,
        documents: list[str] | None = None,
        exclude: tuple[UUID, ...] = (),
        top_k: int = 8,
        calls: int = 40,
    ) -> Query:
        vector = QuestionVector(EMBEDDER, question)
        vector.make()
        return Query(
            self.workspace.pk,
            question,
            top_k,
            vector,
            documents=None
            if documents is None
            else tuple(self.documents[title].pk for title in documents),
            exclude=exclude,
            chat=chat,
            calls=calls,
        )

    def titles(self, chunk_ids: list[UUID]) -> list[str]:
        """The documents that chunks are of."""
        known = {chunk.pk: title for title, chunk in self.chunks.items()}
        return [known[chunk_id] for chunk_id in chunk_ids]


def lights_and_roads(count: int = 3, name: str = "Reef") -> Reef:
    """``count`` topics on lights, as many on roads, each with one document; no topics within."""
    reef = Reef(name)
    for number in range(count):
        keeper = reef.document(
            f"Light {number}", f"Keeper{number} trims the lamp of lighthouse {number}."
        )
        reef.topic(
            f"Lighthouse {number}", {f"Keeper{number} trims a lamp.": [f"Light {number}"]}, [keeper]
        )
        mender = reef.document(f"Road {number}", f"Mender{number} mends road {number} with gravel.")
        reef.topic(
            f"Road works {number}", {f"Mender{number} uses gravel.": [f"Road {number}"]}, [mender]
        )
    return reef


def make_forest(name: str = "Forest", *, long: str = "") -> Reef:
    """Six wide topics, half of them on roads; each with four narrower ones, two of them on lamps
    where the wide one is."""
    reef = Reef(name)
    for number in range(6):
        kind = "lamps" if number < 3 else "roads"
        people = [
            reef.document(f"{kind} {number}.{part}", f"Person{number}{part} works.")
            for part in range(4)
        ]
        wide = reef.topic(f"All {kind} {number}", {f"{kind}.": [f"{kind} {number}.0"]}, people)
        for part, person in enumerate(people):
            title = f"The {kind if part < 2 else 'gravel'} of {number}.{part}"
            text = f"Person{number}{part} works. {long}"
            reef.topic(title, {text: [f"{kind} {number}.{part}"]}, [person], parent=wide)
    return reef
