from __future__ import annotations

import uuid

import pytest

from kb_project.errors import InputError
from kb_project.ports import build_ports
from retrieval.search import services
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.results import ModeResult, Point, Record, RecordKind
from retrieval.search.scope import MOST_NAMES, Scope
from retrieval.search.scope_entities import Steering, resolved, steered
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

TEXT = (
    "Ada Lind keeps the light.\n\n"
    "Bram Oost keeps the light.\n\n"
    "Ada Lind and Bram Oost quarrelled about the light.\n\n"
    "The light burns oil."
)
NAMES = {"Ada Lind": "PERSON", "Bram Oost": "PERSON"}
ADA, BRAM, BOTH, OIL = range(4)


@pytest.fixture
def workspace(fake_embedder) -> Workspace:
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", TEXT, names=NAMES, embedder=build_ports().embedder)
    rows.make_snapshot(workspace)
    return workspace


def entity(workspace: Workspace, name: str) -> uuid.UUID:
    return rows.make_entity(workspace, name).pk


def search(workspace: Workspace, question: str = "Who keeps the light?", **scope: object):
    mode = str(scope.pop("mode", "hybrid"))
    top_k = int(str(scope.pop("top_k", 10)))
    return services.search(
        workspace=workspace,
        question=question,
        mode=mode,
        top_k=top_k,
        scope=Scope(**scope),  # type: ignore[arg-type]  # names of the scope's fields
    )


def texts(found) -> list[str]:
    return [hit.text for hit in found.hits]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical", "walk", "local"])
def test_what_is_about_an_excluded_name_is_left_out(workspace, mode):
    found = search(workspace, exclude=(entity(workspace, "Bram Oost"),), mode=mode)

    assert found.hits
    assert not any("Bram" in text for text in texts(found))
    assert found.query.exclude == (entity(workspace, "Bram Oost"),)


def test_a_passage_that_also_names_somebody_included_stays(workspace):
    found = search(
        workspace,
        exclude=(entity(workspace, "Bram Oost"),),
        include=(entity(workspace, "Ada Lind"),),
    )

    assert any("quarrelled" in text for text in texts(found))
    assert not any(text.startswith("Bram") for text in texts(found))


def test_a_passage_that_also_names_whom_the_question_names_stays(workspace):
    found = search(workspace, "What did Ada Lind do?", exclude=(entity(workspace, "Bram Oost"),))

    assert any("quarrelled" in text for text in texts(found))


def test_whom_the_question_names_can_be_left_out_all_the_same(workspace):
    found = search(workspace, "What did Bram Oost do?", exclude=(entity(workspace, "Bram Oost"),))

    assert not any("Bram" in text for text in texts(found))


def test_leaving_out_does_not_cost_hits_further_down(workspace):
    lines = "\n\n".join(f"Bram Oost lit lamp {number}." for number in range(30))
    rows.make_document(workspace, "Lamps", f"{lines}\n\nThe lamp is lit.", names=NAMES)

    found = search(
        workspace,
        "Who lit the lamp?",
        exclude=(entity(workspace, "Bram Oost"),),
        top_k=3,
        mode="lexical",
    )

    assert "The lamp is lit." in texts(found)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical", "walk"])
def test_an_included_name_comes_first(workspace, mode):
    embedder = build_ports().embedder
    for name, place in (("Ada Lind", "Thirle"), ("Bram Oost", "Skarrow")):
        text = f"{name} was born in {place}."
        rows.make_document(workspace, place, text, names=NAMES, embedder=embedder)
    rows.make_snapshot(workspace)

    found = search(
        workspace, "Where was she born?", include=(entity(workspace, "Ada Lind"),), mode=mode
    )

    assert all("Ada Lind" in text for text in texts(found)[:3])
    assert "Ada Lind was born in Thirle." in texts(found)[:3]
    assert any("Ada Lind" in why for why in found.hits[0].why)


def test_the_question_that_is_answered_stays_as_it_was_asked(workspace):
    found = search(workspace, "Where was she born?", include=(entity(workspace, "Ada Lind"),))

    assert found.query.question == "Where was she born?"


def test_a_name_the_question_has_already_is_not_said_twice():
    steering = Steering({uuid.uuid4(): "Ada Lind"}, {})

    assert steering.asked("Where was ada lind born?") == "Where was ada lind born?"


def test_names_and_documents_are_filters_together(workspace):
    other = rows.make_document(workspace, "Other", "Ada Lind sails.", names=NAMES)

    found = search(workspace, include=(entity(workspace, "Ada Lind"),), documents=(other.pk,))

    assert {hit.document_id for hit in found.hits} == {other.pk}


# --- what cannot be resolved ----------------------------------------------------------------------
@pytest.mark.parametrize("name", ["include", "exclude"])
def test_a_name_of_another_workspace_is_unknown(workspace, name):
    elsewhere = rows.make_entity(rows.make_workspace("Elsewhere"), "Ada Lind")

    scope = Scope.from_json({name: [str(elsewhere.pk)]})
    with pytest.raises(InputError) as refused, access.in_workspace(workspace.pk):
        resolved(workspace.pk, scope)

    assert refused.value.code == "unknown_entity"
    assert refused.value.next_step


def test_a_name_cannot_be_included_and_left_out(workspace):
    ada = entity(workspace, "Ada Lind")

    with pytest.raises(InputError) as refused:
        search(workspace, include=(ada,), exclude=(ada,))

    assert refused.value.code == "invalid_scope"


def test_too_many_names_are_refused():
    ids = [str(uuid.uuid4()) for _ in range(MOST_NAMES + 1)]

    with pytest.raises(InputError):
        Scope.from_json({"exclude": ids})


# --- records --------------------------------------------------------------------------------------
def test_records_and_points_go_with_their_passages(workspace):
    with access.in_workspace(workspace.pk):
        document = next(iter(rows.Document.objects.in_workspace(workspace)))
    ada, bram, both, oil = [chunk.pk for chunk in rows.chunks_of(document)]
    of_bram = entity(workspace, "Bram Oost")
    link = Record(RecordKind.RELATIONSHIP, uuid.uuid4(), "Link", "x", (bram, both))
    report = Record(RecordKind.REPORT, uuid.uuid4(), "Report", "x", (bram, oil))
    person = Record(RecordKind.ENTITY, of_bram, "Bram", "x", (oil,))
    found = ModeResult(
        [ScoredChunk(ada, 1.0), ScoredChunk(bram, 0.5)],
        records=(link, report, person),
        points=(
            Point("gone", 90, records=(link.id,)),
            Point("half", 80, records=(report.id,), chunks=(bram,)),
            Point("free", 70),
        ),
    )
    vector = QuestionVector(build_ports().embedder, "Who?")

    with access.in_workspace(workspace.pk):
        steering = resolved(workspace.pk, Scope(exclude=(of_bram,)))
        query = Query(workspace.pk, "Who?", 5, vector, exclude=(of_bram,))
        left = steered(query, found, steering)

    assert [one.chunk_id for one in left.chunks] == [ada]
    assert [(record.title, record.sources) for record in left.records] == [("Report", (oil,))]
    assert [(point.text, point.chunks) for point in left.points] == [("half", ()), ("free", ())]
