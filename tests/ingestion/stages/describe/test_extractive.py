from __future__ import annotations

import uuid

import pytest
import regex

from ingestion.models import (
    Document,
    Entity,
    Evidence,
    GraphTombstone,
    IngestionJob,
    JobKind,
    Mention,
    Relationship,
)
from ingestion.stage import NO_PROGRESS, Progress
from ingestion.stages import describe
from ingestion.stages.describe.quoting import PassageText, best_sentences
from ingestion.stages.describe.writing import SourceSpan
from kb_project.ports import build_ports
from tests import rows
from workspaces import access
from workspaces.models import Workspace

FIRST = "Ada Lind keeps the light of Skarrow since 1974. She was taught by Bo Strand of Hollow Bay."
SECOND = "Ada Lind was born in Hollow Bay. The storm of that night broke the gallery door."


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


def run(workspace: Workspace, progress: Progress = NO_PROGRESS) -> int:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    return describe.run(job, build_ports(), progress).written


def entity(workspace: Workspace, name: str) -> Entity:
    with access.in_workspace(workspace.pk):
        return Entity.objects.in_workspace(workspace).get(key=name)


def document_text(workspace: Workspace, entity_: Entity) -> list[str]:
    """The text at each of the places a description names."""
    texts = {FIRST, SECOND}
    with access.in_workspace(workspace.pk):
        chunks = {
            str(mention.chunk_id): mention.chunk
            for mention in entity_.mentions.filter(workspace=workspace).select_related("chunk")
        }
    found = []
    for source in entity_.description_sources:
        chunk = chunks[source["chunk"]]
        assert chunk.text in texts
        found.append(chunk.text[source["start"] - chunk.start : source["end"] - chunk.start])
    return found


# --- rows -----------------------------------------------------------------------------------------
@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
class TestRows:
    def test_an_entity_is_described_by_the_sentences_that_name_it(self, workspace: Workspace):
        rows.make_document(workspace, "Keepers", FIRST, names={"Ada Lind": "person"})

        assert run(workspace) == 1

        ada = entity(workspace, "ada lind")
        assert ada.description == "Ada Lind keeps the light of Skarrow since 1974."
        assert document_text(workspace, ada) == [ada.description]

    def test_the_document_an_entity_names_speaks_first(self, workspace: Workspace):
        rows.make_document(workspace, "A bill", SECOND, names={"Ada Lind": "person"})
        titled = rows.make_document(workspace, "Ada Lind", FIRST, names={"Ada Lind": "person"})
        with access.in_workspace(workspace.pk):
            Mention.objects.in_workspace(workspace).filter(document=titled).update(source="title")

        run(workspace)

        assert entity(workspace, "ada lind").description.startswith("Ada Lind keeps the light")

    def test_mentions_and_passages_are_counted(self, workspace: Workspace):
        text = "Ada Lind met Ada Lind.\n\nAda Lind left."
        rows.make_document(workspace, "Keepers", text, names={"Ada Lind": "person"})
        with access.in_workspace(workspace.pk):
            Entity.objects.in_workspace(workspace).update(mention_count=0, chunk_count=0)

        run(workspace)

        ada = entity(workspace, "ada lind")
        assert (ada.mention_count, ada.chunk_count) == (3, 2)

    def test_what_most_mentions_say_is_its_type_and_name(self, workspace: Workspace):
        rows.make_document(workspace, "Keepers", FIRST, names={"Ada Lind": "person"})
        with access.in_workspace(workspace.pk):
            ada = Entity.objects.in_workspace(workspace).get()
            ada.name, ada.type = "ADA LIND", "place"
            ada.save()

        run(workspace)

        again = entity(workspace, "ada lind")
        assert (again.name, again.type) == ("Ada Lind", "person")

    def test_the_short_form_never_becomes_the_name(self, workspace: Workspace):
        document = rows.make_document(workspace, "Keepers", FIRST, names={"Ada Lind": "person"})
        rows.make_entity(workspace, "Ada Lind", "person", aliases=["Lind"])
        ada = entity(workspace, "ada lind")
        chunk = rows.chunks_of(document)[0]
        with access.in_workspace(workspace.pk):
            Mention.objects.bulk_create(
                Mention(
                    workspace=workspace,
                    entity=ada,
                    chunk=chunk,
                    document=document,
                    start=place,
                    end=place + 4,
                    surface="Lind",
                    type="person",
                    source="ner",
                )
                for place in range(50, 60)
            )

        run(workspace)

        assert entity(workspace, "ada lind").name == "Ada Lind"

    def test_a_relationship_counts_and_quotes_its_evidence(self, workspace: Workspace):
        document = rows.make_document(workspace, "Keepers", FIRST)
        ada, bo = rows.make_entity(workspace, "Ada Lind"), rows.make_entity(workspace, "Bo Strand")
        relationship = rows.make_relationship(bo, ada, rows.chunks_of(document)[0], "taught")
        with access.in_workspace(workspace.pk):
            for name in (ada, bo):
                Mention.objects.create(
                    workspace=workspace,
                    entity=name,
                    chunk=rows.chunks_of(document)[0],
                    document=document,
                    start=0,
                    end=8,
                    surface=name.name,
                    type="person",
                    source="ner",
                )

        run(workspace)

        with access.in_workspace(workspace.pk):
            relationship.refresh_from_db()
        assert (relationship.weight, relationship.evidence_count) == (1, 1)
        assert relationship.keywords == ["taught"]
        assert relationship.description == FIRST

    def test_facts_without_evidence_and_names_without_mentions_are_buried(
        self, workspace: Workspace
    ):
        document = rows.make_document(workspace, "Keepers", FIRST, names={"Ada Lind": "person"})
        ada, bo = entity(workspace, "ada lind"), rows.make_entity(workspace, "Bo Strand")
        relationship = rows.make_relationship(ada, bo, rows.chunks_of(document)[0], "met")
        with access.in_workspace(workspace.pk):
            Evidence.objects.in_workspace(workspace).delete()

        run(workspace)

        with access.in_workspace(workspace.pk):
            buried = set(
                GraphTombstone.objects.in_workspace(workspace).values_list("pk", flat=True)
            )
            left = list(Entity.objects.in_workspace(workspace).values_list("key", flat=True))
            assert not Relationship.objects.in_workspace(workspace).exists()
        assert buried == {relationship.pk, bo.pk}
        assert left == ["ada lind"]

    def test_what_did_not_change_is_left_alone(self, workspace: Workspace):
        rows.make_document(workspace, "Keepers", FIRST, names={"Ada Lind": "person"})
        with access.in_workspace(workspace.pk):
            Entity.objects.in_workspace(workspace).update(is_changed=False, description="Mine.")

        assert run(workspace) == 0
        assert entity(workspace, "ada lind").description == "Mine."

    def test_the_marks_stay_for_the_graph(self, workspace: Workspace):
        rows.make_document(workspace, "Keepers", FIRST, names={"Ada Lind": "person"})

        run(workspace)

        assert entity(workspace, "ada lind").is_changed

    def test_running_it_twice_is_running_it_once(self, workspace: Workspace):
        for title, text in (("Keepers", FIRST), ("Bill", SECOND)):
            rows.make_document(workspace, title, text, names={"Ada Lind": "person"})

        run(workspace)
        first = entity(workspace, "ada lind")
        run(workspace)
        second = entity(workspace, "ada lind")

        assert (first.description, first.description_sources, first.mention_count) == (
            second.description,
            second.description_sources,
            second.mention_count,
        )

    def test_a_deleted_document_takes_its_sentences_along(self, workspace: Workspace):
        rows.make_document(workspace, "Keepers", FIRST, names={"Ada Lind": "person"})
        gone = rows.make_document(workspace, "Bill", SECOND, names={"Ada Lind": "person"})
        with access.in_workspace(workspace.pk):
            Document.objects.in_workspace(workspace).filter(pk=gone.pk)._raw_delete("default")

        run(workspace)

        assert entity(workspace, "ada lind").mention_count == 1

    def test_progress_is_reported_batch_by_batch(self, workspace: Workspace, monkeypatch):
        monkeypatch.setattr(describe, "BATCH", 1)
        names = {"Ada Lind": "person", "Skarrow": "place", "Bo Strand": "person"}
        rows.make_document(workspace, "Keepers", FIRST, names=names)
        reports: list[tuple[int, int]] = []

        run(workspace, Progress(lambda done, total: reports.append((done, total))))

        assert reports == [(1, 3), (2, 3), (3, 3)]


# --- choosing sentences ---------------------------------------------------------------------------
CHUNK = uuid.uuid4()


def passage(text: str, start: int = 0) -> dict[uuid.UUID, PassageText]:
    return {CHUNK: PassageText(CHUNK, start, text)}


def at(text: str, *words: str, offset: int = 0) -> list[SourceSpan]:
    places = [text.index(word) + offset for word in words]
    return [SourceSpan(CHUNK, place, place + 1) for place in places]


def chosen(text: str, *words: str, offset: int = 0) -> list[str]:
    places = best_sentences(at(text, *words, offset=offset), passage(text, offset))
    return [text[place.start - offset : place.end - offset] for place in places]


def test_the_sentence_around_a_mention_is_taken():
    assert chosen(FIRST, "She") == ["She was taught by Bo Strand of Hollow Bay."]


def test_offsets_count_from_the_beginning_of_the_document():
    assert chosen(FIRST, "She", offset=1000) == ["She was taught by Bo Strand of Hollow Bay."]


def test_a_sentence_with_two_mentions_is_taken_once():
    assert len(chosen(FIRST, "Ada", "light", "Skarrow")) == 1


def test_the_same_words_are_said_once():
    text = f"{SECOND} {SECOND}"
    second = len(SECOND) + 1

    places = best_sentences(
        [SourceSpan(CHUNK, 0, 1), SourceSpan(CHUNK, second, second + 1)], passage(text)
    )

    assert len(places) == 1


def test_a_fragment_is_taken_only_where_there_is_nothing_better():
    text = "- Light of the Isle of Voar\n\nAda Lind keeps the light of Skarrow since 1974."

    assert chosen(text, "Light", "Ada") == ["Ada Lind keeps the light of Skarrow since 1974."]
    assert chosen(text, "Light") == ["Light of the Isle of Voar"]


def named(text: str, name: str) -> list[str]:
    """The sentences taken for a name that the text has in several."""
    places = [match.span() for match in regex.finditer(regex.escape(name), text)]
    spans = best_sentences([SourceSpan(CHUNK, *place) for place in places], passage(text))
    return [text[span.start : span.end] for span in spans]


IS = "Tern Rock, lit in 1891, is the tower on the western reef."
ABOUT = "Tern Rock lost its generator in the winter fire."
NAMED = "The keepers spent a third of their nights on Tern Rock."


def test_what_a_thing_is_comes_before_what_is_said_of_it_and_where_it_is_named():
    assert named(f"{NAMED} {ABOUT} {IS}", "Tern Rock") == [IS, ABOUT, NAMED]


@pytest.mark.parametrize(
    "sentence",
    [
        "Ada Lind is the keeper of Skarrow.",
        "Dr Ada Lind, the keeper of Skarrow, closed the door.",
        "*Ada Lind* was the first keeper of Skarrow.",
        "Ada Lind (1902–1980) was a keeper at Skarrow.",
    ],
)
def test_a_sentence_that_says_who_somebody_is_comes_first(sentence: str):
    before = "Bo Strand wrote to Ada Lind about the lens."

    assert named(f"{before} {sentence}", "Ada Lind")[0].endswith(sentence.removeprefix("*"))


@pytest.mark.parametrize(
    ("heading", "sentence"),
    [
        (
            "Tern Rock. Minutes of the meeting of 14 March.",
            "Tern Rock keeps the light of the reef.",
        ),
        ("Nobody would live on Tern Rock.", "The tower on the reef, known as Tern Rock, is old."),
    ],
)
def test_a_name_that_stands_alone_or_in_passing_comes_after_what_goes_on(heading, sentence):
    assert named(f"{heading}\n\n{sentence}", "Tern Rock")[0] == sentence


def test_initials_and_brackets_in_another_script_are_a_last_resort():
    chinese = "2024年1月，埃达·林德（Ada Lind）寄来一块指甲大小的碎玻璃。"
    text = f"{chinese} {NAMED} Ada Lind trimmed the wick of the lamp."

    assert named(text, "Ada Lind") == ["Ada Lind trimmed the wick of the lamp."]
    assert named(chinese, "Ada Lind") == [chinese]


def test_a_sentence_without_end_describes_nothing():
    endless = "Ada " + "and oil " * 200 + "."
    text = f"{endless} Ada Lind keeps the light of Skarrow."

    assert chosen(text, "Ada", "Lind") == ["Ada Lind keeps the light of Skarrow."]


def test_no_more_than_three_sentences_are_taken():
    text = " ".join(f"Keeper number {number} trims the wick at dusk." for number in range(6))

    assert len(chosen(text, *(f"number {number}" for number in range(6)))) == 3


def test_a_chunk_that_is_gone_says_nothing():
    assert best_sentences([SourceSpan(uuid.uuid4(), 0, 3)], passage(FIRST)) == []


def test_a_mention_before_the_first_sentence_has_none():
    assert PassageText(CHUNK, 100, FIRST).statement_at(3) is None


def test_what_stands_behind_a_label_describes_nobody_of_whom_a_sentence_tells():
    text = "Initials: AL Ada Lind, BO Bram Oosterling. Ada Lind keeps the light of Skarrow."

    assert chosen(text, "Ada Lind", "Ada Lind keeps") == ["Ada Lind keeps the light of Skarrow."]
