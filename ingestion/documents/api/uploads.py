"""Taking in files: each has its own outcome, so one refused file affects no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.urls import reverse
from rest_framework import serializers

from ingestion.documents import queries as document_queries, services
from ingestion.documents.services import Filing
from kb_project.errors import UploadError
from kb_project.http.api import ProblemSerializer
from kb_project.http.problems import problem
from workspaces.models import User, Workspace


@dataclass(frozen=True, slots=True)
class Intake:
    """The outcome for one file. ``document`` is the existing twin, where there is one."""

    class OutputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField()
        outcome = serializers.ChoiceField(
            choices=["added", "duplicate", "in_trash", "refused"],
            help_text="What is `in_trash` has this content and can be restored.",
        )
        document = serializers.UUIDField(allow_null=True)
        state = serializers.CharField(allow_null=True)
        job = serializers.UUIDField(allow_null=True)
        url = serializers.CharField(allow_null=True, help_text="Where to look how it goes on.")
        problem = ProblemSerializer(allow_null=True)

    name: str
    outcome: str
    document: UUID | None = None
    state: str | None = None
    job: UUID | None = None
    url: str | None = None
    problem: dict[str, Any] | None = None


def take_in(
    *, workspace: Workspace, user: User, files: Sequence[UploadedFile], filing: Filing
) -> list[Intake]:
    """Take in the files, in order. Raises UploadError if the only file is refused."""
    intakes = []
    for file in files:
        try:
            upload = services.document_upload(
                workspace=workspace, file=file, name=file.name or "", user=user, filing=filing
            )
        except UploadError as error:
            if len(files) == 1:
                raise
            name = services.label_of(file.name or "")
            intakes.append(Intake(name, "refused", problem=problem(error)))
        else:
            intakes.append(_intake(workspace, upload))
    return intakes


def _intake(workspace: Workspace, upload: services.Upload) -> Intake:
    document = upload.document
    row = document_queries.document_row(workspace=workspace, document_id=document.pk)
    return Intake(
        name=document.name,
        outcome=_outcome(upload),
        document=document.pk,
        state=document.state,
        job=row.job.pk if row.job else None,
        url=reverse("ingestion_api:document", args=[workspace.pk, document.pk]),
    )


def _outcome(upload: services.Upload) -> str:
    if upload.is_in_trash:
        return "in_trash"
    return "duplicate" if upload.is_duplicate else "added"
