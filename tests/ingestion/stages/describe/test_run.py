from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingestion.models import Entity, Evidence, IngestionJob, JobKind, Mention, Relationship
from ingestion.stage import NO_PROGRESS
from ingestion.stages import describe
from kb_project.llm.fake import FakeChat
from tests import rows
from tests.ingestion.stages.resolve.said import Said, all_of, paper, ports, run
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def described(workspace: Workspace, chat: FakeChat | None) -> FakeChat | None:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    describe.run(job, ports(chat), NO_PROGRESS)
    return chat


def summary(**more: Any) -> FakeChat:
    return FakeChat(lambda _: {"description": "Keeper of the light.", **more})


def papers(workspace: Workspace, number: int) -> None:
    said = [
        Said(
            [("Ada Lind", "person"), ("Skarrow", "place")],
            notes=[(0, f"Keeper in the year {1970 + place}.")],
            links=[(0, 1, f"She kept the light of Skarrow in {1970 + place}.")],
        )
        for place in range(number)
    ]
    run(*(paper(workspace, f"p{place}", one) for place, one in enumerate(said)))


def ada(workspace: Workspace) -> Entity:
    with access.in_workspace(workspace.pk):
        return Entity.objects.in_workspace(workspace).get(key="ada lind")


def test_few_notes_are_joined_and_named_so(workspace: Workspace):
    papers(workspace, 2)

    chat = described(workspace, summary())

    assert chat.requests == []
    entity = ada(workspace)
    assert entity.description == "Keeper in the year 1970. Keeper in the year 1971."
    assert entity.written_by == "joined"
    assert len(entity.description_sources) == 2


def test_many_notes_of_an_entity_and_of_a_link_are_summarised(workspace: Workspace):
    papers(workspace, 8)
    conflicts = [{"reason": "The year.", "statements": [1, 2]}]

    chat = described(workspace, summary(conflicts=conflicts))

    assert len(chat.requests) == 2
    entity = ada(workspace)
    [link] = all_of(workspace, Relationship, "description", "written_by", "conflicts")
    assert (entity.description, entity.written_by) == ("Keeper of the light.", "fake-model")
    assert [one["text"] for one in entity.conflicts[0]["statements"]] == [
        "Keeper in the year 1970.",
        "Keeper in the year 1971.",
    ]
    assert link[:2] == ("Keeper of the light.", "fake-model")
    assert link[2][0]["statements"][0]["text"] == "She kept the light of Skarrow in 1970."


def test_a_second_run_of_the_same_notes_makes_no_call(workspace: Workspace):
    papers(workspace, 8)
    chat = described(workspace, summary())
    made = len(chat.requests)

    described(workspace, chat)

    assert len(chat.requests) == made


def test_what_has_no_notes_is_described_by_the_documents(workspace: Workspace):
    papers(workspace, 8)

    described(workspace, summary())

    writers = dict(all_of(workspace, Entity, "key", "written_by"))
    assert writers == {"ada lind": "fake-model", "skarrow": "extractive"}


def test_without_a_model_the_documents_own_words_take_over_again(workspace: Workspace):
    papers(workspace, 8)
    described(workspace, summary(conflicts=[{"reason": "Year.", "statements": [1, 2]}]))

    described(workspace, None)

    entity = ada(workspace)
    assert (entity.written_by, entity.conflicts) == ("extractive", [])


def test_the_ends_of_a_fact_without_evidence_are_looked_at_again(workspace: Workspace):
    papers(workspace, 1)
    described(workspace, None)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).update(is_changed=False)
        [link] = Relationship.objects.in_workspace(workspace)
        Evidence.objects.in_workspace(workspace).delete()

    described(workspace, None)

    with access.in_workspace(workspace.pk):
        assert not Relationship.objects.in_workspace(workspace).exists()
        marked = Entity.objects.in_workspace(workspace).filter(is_changed=True)
        assert {one.pk for one in marked} == {link.source_id, link.target_id}


def test_strengths_are_summed_and_keywords_united(workspace: Workspace):
    papers(workspace, 3)

    described(workspace, summary())

    assert all_of(workspace, Relationship, "weight", "evidence_count", "keywords") == [
        (3.0, 3, ["trade"])
    ]


# --- what the mentions say an entity is -----------------------------------------------------------
Votes = list[tuple[str, str]]


def voted(workspace: Workspace, name: str, votes: Votes) -> str:
    """The type of an entity whose mentions have these types and sources."""
    text = "\n\n".join(f"{name} is here." for _ in votes)
    rows.make_document(workspace, f"About {name}", text, names={name: "name"})
    with access.in_workspace(workspace.pk):
        mentions = Mention.objects.in_workspace(workspace).filter(surface=name).order_by("start")
        for mention, (kind, source) in zip(mentions, votes, strict=True):
            mention.type, mention.source = kind, source
            mention.save()
        entities = Entity.objects.in_workspace(workspace).filter(name=name)
        entities.update(is_changed=True)
    described(workspace, None)
    with access.in_workspace(workspace.pk):
        return entities.get().type


@pytest.mark.parametrize(
    ("name", "votes", "kind"),
    [
        ("Spirit", [("organization", "ner")] * 2 + [("person", "around")], "person"),
        ("Debian", [("group", "ner")] * 3 + [("product", "around")] * 2, "product"),
        ("FSF", [("concept", "propn")] * 4 + [("organization", "ner")] * 3, "organization"),
        ("Ada Lind", [("person", "ner")], "person"),
        ("Progeny", [("person", "ner")], "concept"),
        ("Emacs", [("person", "ner")] * 3, "concept"),
        ("Slink", [("place", "ner")], "concept"),
        ("Japan", [("place", "ner")] * 3, "place"),
        ("Oslo", [("place", "around")], "place"),
        ("Hilli", [("name", "propn")], "concept"),
        ("Set November", [("name", "propn")], "concept"),
        ("GNU Mach", [("name", "propn")] * 2, "concept"),
        ("Skarrow", [("name", "capitals")], "name"),
        ("Google", [("organization", "ner")] * 3, "organization"),
        ("Ada Bell", [("organization", "ner")] * 3 + [("person", "ner")] * 2, "person"),
        ("Marley", [("person", "again"), ("place", "ner"), ("person", "around")], "person"),
        ("German", [("group", "ner")] * 2, "group"),
        ("Frans", [("group", "ner")], "concept"),
        ("Git", [("person", "ner"), ("place", "around")] + [("concept", "propn")] * 9, "concept"),
        ("Lothair", [("person", "model")], "person"),
        ("明朝", [("place", "jieba")], "place"),
        ("Moon", [("concept", "around")] * 5 + [("person", "ner")] * 2, "concept"),
        ("al-Klaibain", [("person", "ner")] * 2, "concept"),
        ("Toolbar", [("place", "ner")] * 4 + [("name", "propn")] * 5, "concept"),
        ("Paris Commune", [("organization", "ner")] * 4 + [("event", "ner")] * 3, "event"),
        ("Mutual Fund", [("event", "ner")] + [("organization", "ner")] * 1, "event"),
        ("Tux Paint", [("person", "ner")] * 40 + [("product", "around")] * 5, "product"),
        ("Berlin", [("place", "model")] * 9 + [("product", "around")] * 2, "place"),
    ],
)
def test_mentions_vote_and_what_stands_around_a_name_says_most(
    workspace: Workspace, name: str, votes: Votes, kind: str
):
    assert voted(workspace, name, votes) == kind
