from __future__ import annotations

import pytest

from ingestion.models import Document, DocumentVersion
from kb_project.ports import build_ports
from retrieval.answering import overview
from retrieval.answering.overview_language import Target
from retrieval.search import services
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

FILES = {
    "rates.eml": (
        "New rates from May",
        "Whoever keeps the night watch gets four shillings from May.\n\nSundays count twice.",
    ),
    "boat.eml": ("The boat", "The boat comes on Fridays, and the crew needs more rope."),
    "report-7.pdf": (
        "Incident report 7",
        "An accident at the winch in December: it trapped a hand of Bram Olsen.",
    ),
    "spring.txt": (
        "Meeting, 4 March",
        "The keepers met in March and agreed to tar every rope.\n\nA new lamp is too dear.",
    ),
    "autumn.txt": (
        "Meeting, 9 October",
        "The keepers met in October and agreed to paint the tower.\n\nThe boat needs a mast.",
    ),
    "outlook.pptx": ("Outlook", "Ada Lind: what the harbour wants to build in three years."),
    "oil.docx": (
        "Agreement",
        "The oil merchant delivers colza oil to Skarrow.\n\nThe price is nine shillings a barrel.",
    ),
}


@pytest.fixture(scope="module")
def skarrow(rows_of_the_module: None) -> Workspace:
    workspace = rows.make_cast("Skarrow").workspace
    embedder = build_ports().embedder
    for name, (title, text) in FILES.items():
        document = rows.make_document(workspace, title, text, embedder=embedder)
        with access.in_workspace(workspace.pk):
            documents = Document.objects.in_workspace(workspace)
            documents.filter(pk=document.pk).update(name=name)
            if name == "rates.eml":
                versions = DocumentVersion.objects.in_workspace(workspace)
                versions.filter(document=document).update(metadata={"author": "Bo Tarn"})
    return workspace


def asked_of(workspace: Workspace, question: str) -> Target | None:
    found = services.search(workspace=workspace, question=question, mode="hybrid", top_k=12)
    with access.in_workspace(workspace.pk):
        return overview.target(workspace.pk, question, None, found.hits)


@pytest.mark.parametrize(("question", "name"), [
    ("can someone sum up Bo's mail on the night watch", "rates.eml"),
    ("In a nutshell, what does the e-mail about the night watch say?", "rates.eml"),
    ("give me the gist of the accident report from December", "report-7.pdf"),
    ("main points of Ada's slides", "outlook.pptx"),
    ("could somebody walk me through the minutes from March please", "spring.txt"),
    ("What was agreed in the meeting in October?", "autumn.txt"),
    ("what's the contract with the oil merchant about, in short", "oil.docx"),
    ("tl;dr of the document about colza oil", "oil.docx"),
    ("What does the e-mail about the night watch describe?", "rates.eml"),
    ("sum up the guide to the boat and its crew", "boat.eml"),
])  # fmt: skip
def test_a_document_is_meant_by_its_kind_its_author_and_what_it_says(
    skarrow: Workspace, question: str, name: str
):
    target = asked_of(skarrow, question)

    assert target
    with access.in_workspace(skarrow.pk):
        [document] = Document.objects.in_workspace(skarrow).filter(pk__in=target.documents)
    assert document.name == name


@pytest.mark.parametrize("question", [
    "sum up the report on the volcano",
    "sum up the guide to the volcano of Skarrow",
    "sum up the handbook of tarring ropes",
    "summary of the mail about dragons",
    "summarise the document about colza dragons",
    "main points of the meeting",
    "what was agreed at the meeting of 16 October",
    "give me a rundown of the keepers' meeting",
    "summarise the prices in the oil contract",
    "what was said in the meeting in March about the lamp",
    "what is the main point of contact for the oil merchant",
    "key points of the winch",
    "summary of charges on the bill",
    "walk me through tarring the rope of the boat",
    "Who keeps the night watch, in short?",
])  # fmt: skip
def test_no_document_is_meant_where_none_leads_or_something_in_it_is_asked_for(
    skarrow: Workspace, question: str
):
    assert asked_of(skarrow, question) is None
