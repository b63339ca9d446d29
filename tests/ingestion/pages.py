"""What the tests of ingestion's pages share: a signed-in browser and documents to look at."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from ingestion.documents import services
from ingestion.models import Document, IngestionJob, RunState
from ingestion.pipeline import transitions
from kb_project.errors import ParseError
from tests.api import sign_in
from tests.rows import (
    Cast,
    make_document,
)
from workspaces import access

TEXT = (
    "Skarrow Light was built by Josiah Gault.\n\n"
    "It was first lit on 3 October 1869. <script>alert(1)</script>"
)


def client_of(user) -> Client:
    client = Client()
    sign_in(client, user)
    return client


def address(name: str, cast: Cast, *args: object) -> str:
    return reverse(f"ingestion:{name}", args=[cast.workspace.slug, *args])


def page_of(user, name: str, cast: Cast, *args: object, **query: Any) -> str:
    response = client_of(user).get(address(name, cast, *args), query)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def light(cast: Cast) -> Document:
    names = {"Skarrow Light": "FAC", "Josiah Gault": "PERSON"}
    return make_document(cast.workspace, "The light", TEXT, names=names)


def upload(cast: Cast, name: str = "lease.txt", content: bytes = b"A lease.") -> Document:
    file = SimpleUploadedFile(name, content)
    added = services.document_upload(
        workspace=cast.workspace, file=file, name=name, user=cast.alice
    )
    return added.document


def stop(cast: Cast, document: Document) -> None:
    with access.in_workspace(cast.workspace.pk):
        job = IngestionJob.objects.in_workspace(cast.workspace).get(document=document)
        error = ParseError(
            "It has a password.", code="pdf_password", kept="The file is kept.", next_step="Retry."
        )
        transitions.stop(job, RunState.FAILED, error.problem())
