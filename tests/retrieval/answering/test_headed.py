from __future__ import annotations

import pytest

from ingestion.models import Chunk, DocumentVersion
from kb_project.ports import build_ports
from kb_project.text.regions import LABEL, Region, RegionKind, as_json, within
from retrieval.answering import extractive, headed, ranking
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.results import hydrate
from tests import rows
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

UNITS = [
    (1, "Traits", "Every unit that is recruited has traits, which change it a little for good."),
    (2, "Quick", "A quick unit moves one hex further. It has fewer hitpoints."),
    (2, "Strong", "A strong unit does more damage in melee."),
    (2, "See also", "The help has more about units."),
    (1, "Leaders of the north", "The north has leaders, whom nobody has counted."),
    (2, "Edrin", "Edrin leads the outlaws."),
]


class Desk:
    """A workspace with a document of headed parts, each part a passage."""

    def __init__(self, parts) -> None:
        self.workspace = rows.make_cast().workspace
        text = "\n\n".join(f"{title}\n{said}" for _, title, said in parts) + "\n"
        self.document = rows.make_document(self.workspace, "Units", text)
        places = [(level, title, text.index(f"{title}\n")) for level, title, _ in parts]
        regions = [
            Region(RegionKind.HEADING, start, start + len(title), level)
            for level, title, start in places
        ]
        with access.in_workspace(self.workspace.pk):
            versions = DocumentVersion.objects.in_workspace(self.workspace.pk)
            version = versions.get(document=self.document)
            version.headings = [list(one) for one in places if one[0] != LABEL]
            version.regions = as_json(regions)
            version.save()
            chunks = Chunk.objects.in_workspace(self.workspace.pk).filter(document=self.document)
            for chunk in chunks:
                chunk.regions = as_json(within(regions, chunk.start, chunk.end))
                chunk.save()

    def said(self, question):
        vector = QuestionVector(build_ports().embedder, question)
        query = Query(self.workspace.pk, question, 5, vector)
        with access.in_workspace(self.workspace.pk):
            chunks = rows.chunks_of(self.document)
            found = hydrate(self.workspace.pk, [ScoredChunk(one.pk, 1.0) for one in chunks])
            made = ranking.gather(query, found, None)
            ranked = ranking.rank(made)
            parts = headed.best(self.workspace.pk, made, ranked)
            return [one.candidate.said for one in extractive.choose(made, ranked, parts).chosen]


def test_what_is_headed_by_what_a_list_is_asked_of_is_listed():
    assert Desk(UNITS).said("Which traits are there?") == [
        "Quick: A quick unit moves one hex further.",
        "Strong: A strong unit does more damage in melee.",
    ]


def test_a_heading_may_say_that_its_things_are_available():
    parts = [(level, title.replace("Traits", "Available Traits"), of) for level, title, of in UNITS]

    assert len(Desk(parts).said("Which traits are there?")) == 2


def test_a_heading_about_more_than_is_asked_lists_nothing():
    said = Desk(UNITS).said("Which outlaws of the north are there?")

    assert not any(one.startswith("Edrin:") for one in said)


def test_a_heading_with_nothing_below_it_lists_nothing():
    said = Desk(UNITS[:1]).said("Which traits are there?")

    assert said == [UNITS[0][2]]


def test_a_question_for_no_list_gets_no_parts():
    said = Desk(UNITS).said("What are traits?")

    assert not any(one.startswith("Quick:") for one in said)


def test_terms_that_head_their_definitions_are_parts():
    parts = [(LABEL if level == 2 else level, title, said) for level, title, said in UNITS]

    assert Desk(parts).said("What are the traits?")[0].startswith("Quick: ")


def test_parts_that_share_a_word_are_what_the_word_names():
    steps = [
        (1, "Going ashore", "The keeper goes ashore once a month, and then does as follows."),
        (2, "Step 1: Row", "Row to the quay."),
        (2, "Step 2: Moor", "Moor the boat at the ring."),
    ]

    assert Desk(steps).said("What are the steps of going ashore?") == [
        "Step 1: Row: Row to the quay.",
        "Step 2: Moor: Moor the boat at the ring.",
    ]


def test_long_parts_are_named_alone():
    long = [(2, f"Trait {letter}", f"It is {'very ' * 90}good.") for letter in "ABC"]

    assert Desk([*UNITS[:1], *long]).said("Which traits are there?") == [
        "Trait A",
        "Trait B",
        "Trait C",
    ]


def test_the_rest_of_a_table_is_read_where_a_list_is_asked_for():
    desk = Desk([(1, "Staff", "Ada is the first."), (1, "Staff", "Bram is the second.")])
    vector = QuestionVector(build_ports().embedder, "")
    with access.in_workspace(desk.workspace.pk):
        first, second = rows.chunks_of(desk.document)
        Chunk.objects.in_workspace(desk.workspace.pk).update(heading_path=["Staff"])
        Chunk.objects.in_workspace(desk.workspace.pk).filter(pk=first.pk).update(
            regions=as_json([Region(RegionKind.TABLE, 0, 5)])
        )
        found = hydrate(desk.workspace.pk, [ScoredChunk(first.pk, 1.0)])

        read = {
            question: [
                one.chunk_id
                for one in headed.with_whole_tables(
                    Query(desk.workspace.pk, question, 5, vector), found
                )
            ]
            for question in ("Which keepers are there?", "Who is first?")
        }

    assert read == {"Which keepers are there?": [first.pk, second.pk], "Who is first?": [first.pk]}
