"""A workspace with one of everything, and the people who call."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from string import Template
from typing import Any, Final

from django.utils import timezone

from ingestion.curation import entities
from ingestion.curation.conflicts import conflict_decide
from ingestion.documents import lifecycle, metadata
from ingestion.documents.collections import services as collections
from ingestion.exchange import importing
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Chunk,
    Claim,
    Collection,
    CollectionGrant,
    Conflict,
    Document,
    DocumentVersion,
    Entity,
    IngestionJob,
    ResolutionDecision,
    RunState,
    Verdict,
)
from ingestion.pipeline import transitions
from kb_project.errors import ParseError
from retrieval.models import (
    Answer,
    AnswerState,
    Citation,
    EvaluationResult,
    EvaluationRun,
    Question,
    QuestionSet,
    RunProgress,
    SetQuestion,
)
from tests import rows
from tests.ingestion import jobs
from tests.ingestion.disputed import make_conflict
from tests.ingestion.suggestions import papers
from workspaces import access
from workspaces.models import (
    ApiToken,
    Capability,
    Group,
    Invitation,
    Membership,
    Role,
    User,
    WorkspaceExport,
)
from workspaces.people import services as people_services

WHERE: Final[Mapping[str, str]] = {
    "workspace_id": "workspace",
    "document_id": "document",
    "collection_id": "collection",
    "entity_id": "entity",
    "other_id": "acme",
    "relationship_id": "relationship",
    "claim_id": "claim",
    "conflict_id": "conflict",
    "community_id": "community",
    "decision_id": "decision",
    "event_id": "document_event",
    "question_id": "question",
    "answer_id": "answer",
    "set_id": "set",
    "run_id": "run",
    "result_id": "result",
    "number": "version",
    "member_id": "member",
    "group_id": "group",
    "grant_id": "grant",
    "invitation_id": "invitation",
    "export_id": "export",
    "import_id": "import",
    "token_id": "token",
    "session_id": "1",
    "pk": "1",
    "provider_id": "none",
    "space_id": "space",
    "token": "none",
    "object_id": "1",
    "content_type_id": "1",
    "app_label": "workspaces",
}
"""The object that a part of an address names, unless an operation says where else it is at."""


@dataclass(frozen=True)
class World:
    people: Mapping[str, User]
    objects: Mapping[str, Any]
    secrets: Mapping[str, str]

    def filled(self, value: Any) -> Any:
        """The value with the ids of objects in place of their ``$names``."""
        if isinstance(value, str) and value.startswith("$"):
            return str(self.objects[value[1:]])
        if isinstance(value, Mapping):
            return {name: self.filled(part) for name, part in value.items()}
        return [self.filled(part) for part in value] if isinstance(value, list) else value

    def query(self, text: str) -> str:
        """A query string with the ids of objects in place of their ``$names``."""
        return Template(text).substitute(self.objects)

    def part(self, part: str, at: Mapping[str, Any]) -> Any:
        """The value of a part of an address: an object's id, or what ``at`` says itself."""
        wanted = at.get(part) or WHERE[part]
        return self.objects.get(wanted, wanted)


def make_world() -> World:
    cast = papers.make_cast()
    people = {
        "owner": cast.alice,
        "viewer": cast.bob,
        "stranger": cast.charlie,
        "editor": _member(cast, "Edith", Role.EDITOR),
        "curator": _member(cast, "Curt", Role.CURATOR),
        "admin": _member(cast, "Adam", Role.ADMIN),
        "removed": _removed(cast),
    }
    # So that the owner can leave.
    _member(cast, "Olga", Role.OWNER)
    # The stranger owns a workspace too: an account with something, and nothing here.
    people_services.workspace_create(name="Elsewhere and nowhere", owner=cast.charlie)
    objects = {
        "workspace": cast.workspace.slug,
        "version": 1,
        **_documents(cast),
        **_graph(cast),
        **_questions(cast),
        **_evaluation(cast),
        **_team(cast),
    }
    return World(people, objects, _secrets(cast, people))


def _member(cast: rows.Cast, name: str, role: Role) -> User:
    user = rows.make_user(name)
    people_services.member_add(workspace=cast.workspace, user=user, role=role)
    return user


def _removed(cast: rows.Cast) -> User:
    user = _member(cast, "Rhea", Role.ADMIN)
    with access.in_workspace(cast.workspace.pk):
        Membership.objects.in_workspace(cast.workspace).filter(user=user).delete()
    return user


def _team(cast: rows.Cast) -> dict[str, Any]:
    workspace = cast.workspace
    ending = timezone.now() + timedelta(days=7)
    with access.in_workspace(workspace.pk):
        member = Membership.objects.in_workspace(workspace).get(user=cast.bob)
        group = Group.objects.create(workspace=workspace, name="Crew")
        closed = Collection.objects.create(workspace=workspace, name="Closed")
        grant = CollectionGrant.objects.create(workspace=workspace, collection=closed, group=group)
        invitation = Invitation.objects.create(
            workspace=workspace,
            role=Role.VIEWER,
            token_hash="0" * 64,
            expires_at=ending,
            created_by=cast.alice,
        )
        export = WorkspaceExport.objects.create(workspace=workspace, requested_by=cast.alice)
    token, _ = rows.make_token(workspace, cast.alice)
    return {
        "space": workspace.pk,
        "member": member.pk,
        "group": group.pk,
        "closed": closed.pk,
        "grant": grant.pk,
        "invitation": invitation.pk,
        "export": export.pk,
        "token": token.pk,
    }


def _secrets(cast: rows.Cast, people: Mapping[str, User]) -> dict[str, str]:
    """Tokens by name: two of the viewer, of which one expired; of the admin; of nobody."""
    _, reading = rows.make_token(cast.workspace, cast.bob)
    expired, ended = rows.make_token(cast.workspace, cast.bob)
    _, administering = rows.make_token(
        cast.workspace, people["admin"], *map(Capability, Role.ADMIN.capabilities)
    )
    with access.in_workspace(cast.workspace.pk):
        rows_of = ApiToken.objects.in_workspace(cast.workspace).filter(pk=expired.pk)
        rows_of.update(expires_at=timezone.now() - timedelta(days=1))
    return {
        "unknown": "kb_nothing_like_this",
        "read_only": reading,
        "expired": ended,
        "admin": administering,
    }


def _documents(cast: rows.Cast) -> dict[str, uuid.UUID | None]:
    workspace, change = cast.workspace, ChangeContext(cast.workspace, cast.alice)
    read = {
        name: rows.make_document(workspace, name, f"{name}: the lamp of Skarrow was lit.")
        for name in ("document", "trashed", "disabled", "versioned")
    }
    waiting, failed = (jobs.add(workspace, name, f"{name} oil") for name in ("waiting", "failed"))
    collection = collections.collection_create(change=change, name="Logs")
    inside = [read["versioned"].pk, read["disabled"].pk]
    collections.documents_move(change=change, document_ids=inside, to=collection)
    event = metadata.document_edit(change=change, document=read["document"], title="The log")
    lifecycle.documents_trash(change=change, documents=[read["trashed"]])
    lifecycle.documents_disable(change=change, documents=[read["disabled"]])
    with access.in_workspace(workspace.pk):
        _two_versions(read["versioned"])
        problem = ParseError("It broke.").problem()
        job = IngestionJob.objects.in_workspace(workspace).get(pk=failed.pk)
        transitions.stop(job, RunState.FAILED, problem)
    return {
        **{name: document.pk for name, document in read.items()},
        "waiting": waiting.document_id,
        "failed": failed.document_id,
        "document_event": event.pk,
        "collection": collection.pk,
    }


def _two_versions(document: Document) -> None:
    """A first version that can be restored, and the second, which is live."""
    first = DocumentVersion.objects.in_workspace(document.workspace_id).get(document=document)
    DocumentVersion.objects.in_workspace(document.workspace_id).filter(pk=first.pk).update(
        parsed_at=document.created_at
    )
    DocumentVersion.objects.create(
        workspace_id=document.workspace_id,
        document=document,
        number=2,
        blob="none",
        text=first.text,
        parser="text",
        parsed_at=document.created_at,
    )
    Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk).update(
        live_number=2
    )


def _claim(subject: Entity, chunk: Chunk) -> Claim:
    return Claim.objects.create(
        workspace=subject.workspace,
        subject=subject,
        chunk=chunk,
        document=chunk.document,
        type="office",
        status=Claim.Status.TRUE,
        description="She keeps the light.",
        start=chunk.start,
        end=chunk.end,
    )


def _decided(cast: rows.Cast, subject: Entity, chunk: Chunk) -> Conflict:
    """A conflict that was decided."""
    conflict = make_conflict(subject, [chunk])
    conflict_decide(
        change=ChangeContext(cast.workspace, cast.alice), conflict=conflict.pk, verdict="both"
    )
    return conflict


def _graph(cast: rows.Cast) -> dict[str, uuid.UUID]:
    workspace = cast.workspace
    ids = {
        "acme": papers.id_of(cast, papers.ACME),
        "inc": papers.id_of(cast, papers.INC),
        "unit": papers.id_of(cast, papers.UNIT),
        "entity": papers.id_of(cast, "ada lind"),
    }
    with access.in_workspace(workspace.pk):
        found = rows.Entity.objects.in_workspace(workspace).in_bulk(ids.values())
        paper = Document.objects.in_workspace(workspace).get(name="a.txt")
        link = rows.Relationship.objects.in_workspace(workspace).order_by("pk")[0]
        claim = _claim(found[ids["entity"]], rows.chunks_of(paper)[0])
        conflict = make_conflict(found[ids["entity"]], rows.chunks_of(paper)[:1])
        decided = _decided(cast, found[ids["acme"]], rows.chunks_of(paper)[0])
        decision = ResolutionDecision.objects.create(
            workspace=workspace,
            left_key="hestay",
            right_key="skarrow",
            verdict=Verdict.DIFFERENT,
            by=ResolutionDecision.By.MODEL,
        )
    table = BytesIO(b"name,type\nOle Berg,person\n")
    imported = importing.import_upload(
        workspace=workspace, user=cast.alice, file=table, name="people.csv", via="page"
    )
    report = rows.make_report(workspace, "Lamps", [*found.values()], rows.chunks_of(paper))
    event = entities.entity_edit(
        change=ChangeContext(workspace, cast.alice), entity=ids["unit"], description="Rows out."
    )
    return {
        **ids,
        "case": papers.case_of(cast, papers.ACME, papers.INC).key,
        "paper": paper.pk,
        "relationship": link.pk,
        "community": report.community_id,
        "decision": decision.pk,
        "import": imported.pk,
        "claim": claim.pk,
        "conflict": conflict.pk,
        "decided": decided.pk,
        "entity_event": event.pk,
    }


def _questions(cast: rows.Cast) -> dict[str, uuid.UUID]:
    with access.in_workspace(cast.workspace.pk):
        anyones = _answer(cast, AnswerState.DONE, None)
        _cite(anyones)
        owners = _answer(cast, AnswerState.QUEUED, cast.alice)
    return {
        "question": anyones.question_id,
        "answer": anyones.pk,
        "answer_of_the_owner": owners.pk,
    }


def _cite(answer: Answer) -> None:
    chunk = rows.Chunk.objects.in_workspace(answer.workspace_id).order_by("pk")[0]
    Citation.objects.create(
        workspace_id=answer.workspace_id,
        answer=answer,
        number=1,
        document_id=chunk.document_id,
        chunk=chunk,
        start=chunk.start,
        end=chunk.end,
        quote=chunk.text,
    )


def _answer(cast: rows.Cast, state: AnswerState, user: User | None) -> Answer:
    question = Question.objects.create(
        workspace=cast.workspace, text="Who lit the lamp?", mode="lexical", asked_by=user
    )
    return Answer.objects.create(workspace=cast.workspace, question=question, state=state)


def _evaluation(cast: rows.Cast) -> dict[str, uuid.UUID]:
    workspace = cast.workspace
    with access.in_workspace(workspace.pk):
        made = QuestionSet.objects.create(workspace=workspace, name="Lights")
        question = SetQuestion.objects.create(
            workspace=workspace, question_set=made, ordinal=1, text="Who keeps the light?"
        )
        run = _run(made, RunProgress.STOPPED)
        going_on = _run(QuestionSet.objects.create(workspace=workspace, name="Going on"))
        result = EvaluationResult.objects.create(
            workspace=workspace, run=run, question=question, mode="walk"
        )
    return {
        "set": made.pk,
        "set_question": question.pk,
        "run": run.pk,
        "run_going_on": going_on.pk,
        "result": result.pk,
    }


def _run(question_set: QuestionSet, state: RunProgress = RunProgress.QUEUED) -> EvaluationRun:
    return EvaluationRun.objects.create(
        workspace_id=question_set.workspace_id,
        question_set=question_set,
        modes=["lexical"],
        ks=[5],
        state=state,
        total=1,
    )
