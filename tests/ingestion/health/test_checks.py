"""Every check sees its own kind of damage, and what mends it does."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import IntegrityError
from django.utils import timezone

from ingestion.health import services as health
from ingestion.health.checks import CHECKS
from ingestion.models import Alias, Entity, EntityRuling, HistoryEvent, Relationship
from kb_project.graph.age_store import AgeGraphStore
from kb_project.graph.ports import GraphNode
from tests.ingestion.health.breaks import BREAKS
from tests.ingestion.health.harbour import (
    DOCUMENTS,
    bring_back,
    compared,
    document_id,
    drift_of,
    file_of,
    forgotten,
    mended,
    run,
    work,
)
from workspaces import access
from workspaces.models import Workspace


def test_what_was_read_is_sound(workspace: Workspace):
    report = health.check(workspace.pk, is_deep=True)

    assert report.is_settled, str(report) + str(report.waiting)


DEEP = {"facts: missing mention", "words: others, deep"}


@pytest.mark.parametrize("name", BREAKS)
def test_damage_is_seen_and_mended(name: str, workspace: Workspace):
    before = compared(workspace)
    run(workspace, BREAKS[name])
    is_deep = name in DEEP

    report = health.check(workspace.pk, is_deep=is_deep)

    drift = drift_of(report, name.partition(":")[0])
    assert drift.is_repairable
    assert drift.count > 0
    assert drift.found.samples
    assert drift.sentence.endswith(".")
    after = mended(workspace, is_deep=is_deep, report=report)
    assert after.is_settled, str(after) + str(after.waiting)
    bring_back(workspace)
    assert compared(workspace) == before, "a repair hides nothing from the next look"


@pytest.mark.parametrize("name", ["archive: still searched", "passages: none", "extractions"])
def test_a_look_after_a_repair_misses_nothing(name: str, workspace: Workspace):
    run(workspace, BREAKS[name])
    assert mended(workspace).is_settled
    bring_back(workspace)
    run(workspace, "DELETE FROM ingestion_mention WHERE workspace_id = %(workspace)s")

    drift = drift_of(health.check(workspace.pk, is_deep=True), "facts")

    assert drift.found.targets == {document_id(workspace, one) for one in DOCUMENTS}
    assert mended(workspace, is_deep=True).is_settled


def test_a_link_from_a_thing_to_itself_is_refused_by_the_table(workspace: Workspace):
    with forgotten(), pytest.raises(IntegrityError, match="relationship_no_loop"):
        run(
            workspace,
            """UPDATE ingestion_relationship SET target_id = source_id
                WHERE workspace_id = %(workspace)s""",
        )


def test_every_check_is_broken_by_a_test_here():
    by_hand = {"references", "decisions", "projection", "missing_files", "orphan_files"}

    names = [one.name for one in CHECKS]

    assert sorted(names) == sorted({name.partition(":")[0] for name in BREAKS} | by_hand)


def test_a_row_that_names_nothing_is_seen_and_removed(workspace: Workspace):
    with forgotten():  # the database refuses to keep it
        run(
            workspace,
            """INSERT INTO ingestion_posting (workspace_id, term, chunk_id, frequency, length)
               VALUES (%(workspace)s, 'ghost', gen_random_uuid(), 1, 1)""",
        )

        drift = drift_of(health.check(workspace.pk), "references")
        health.repair(health.check(workspace.pk))

        assert drift.found.samples[0].startswith("ingestion_posting.chunk_id ")
        assert health.check(workspace.pk).is_settled


def test_what_a_person_wrote_is_not_removed_with_what_it_names(workspace: Workspace):
    with forgotten():
        run(
            workspace,
            """INSERT INTO ingestion_entityruling
                      (workspace_id, id, event_id, sequence, key, sense, field, value)
               VALUES (%(workspace)s, gen_random_uuid(), gen_random_uuid(), 1, 'x', 0, 'name', 'X')
            """,
        )

        health.repair(health.check(workspace.pk))

        assert drift_of(health.check(workspace.pk), "references").count == 1


# --- the graph projection -------------------------------------------------------------------------
def test_another_name_in_the_projection_is_seen_and_mended(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        ada = Entity.objects.in_workspace(workspace).get(key="ada lind")
        AgeGraphStore().upsert(workspace.pk, [GraphNode(ada.pk, "Eda", "person", 1)], [])

    drift = drift_of(health.check(workspace.pk), "projection")

    assert drift.found.samples == (str(ada.pk),)
    assert mended(workspace).is_settled


def test_a_link_that_the_projection_lacks_is_seen_and_mended(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        link = Relationship.objects.in_workspace(workspace).order_by("pk")[0]
        AgeGraphStore().remove(workspace.pk, [], [link.pk])

    assert drift_of(health.check(workspace.pk), "projection").count == 1
    assert mended(workspace).is_settled


def test_what_is_marked_is_not_compared_with_the_projection(workspace: Workspace):
    run(
        workspace,
        """UPDATE ingestion_entity SET name = 'ADA', is_changed = true
            WHERE workspace_id = %(workspace)s AND key = 'ada lind'""",
    )

    report = health.check(workspace.pk)

    assert report.is_sound
    assert {one.check for one in report.waiting} == {"refresh"}


# --- what people said -----------------------------------------------------------------------------
def test_a_ruling_that_no_document_obeys_is_found_by_a_deep_look(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        event = HistoryEvent.objects.create(
            workspace=workspace, sequence=900, kind="entity_deleted", details={}
        )
        EntityRuling.objects.create(
            workspace=workspace, event=event, sequence=900, key="ingrid holm", field="deleted"
        )
    letters = str(document_id(workspace, "letters.txt"))
    assert health.check(workspace.pk).is_sound

    drift = drift_of(health.check(workspace.pk, is_deep=True), "facts")

    assert drift.found.samples == (letters,)
    assert mended(workspace, is_deep=True).is_settled
    run(
        workspace,
        "UPDATE ingestion_entityruling SET undone_at = now() WHERE workspace_id = %(workspace)s",
    )
    again = drift_of(health.check(workspace.pk, is_deep=True), "facts")
    assert again.found.samples == (letters,)
    assert mended(workspace, is_deep=True).is_settled


def test_a_ruling_of_an_event_that_was_undone_is_left_to_people(workspace: Workspace):
    with forgotten():
        with access.in_workspace(workspace.pk):
            event = HistoryEvent.objects.create(
                workspace=workspace,
                sequence=99,
                kind="entity_edited",
                undone_at=timezone.now(),
            )
            EntityRuling.objects.create(
                workspace=workspace, event=event, sequence=99, key="nobody", field="confirmed"
            )

        drift = drift_of(health.check(workspace.pk), "decisions")
        said = health.repair(health.check(workspace.pk))

        assert not drift.is_repairable
        assert "history" in drift.next_step
        assert said == []
        assert drift_of(health.check(workspace.pk), "decisions").count == 1


def test_what_a_person_made_needs_no_mention(workspace: Workspace):
    with forgotten():
        with access.in_workspace(workspace.pk):
            made = Entity.objects.create(
                workspace=workspace,
                key="lamp guild",
                name="Lamp guild",
                type="group",
                is_made=True,
                is_changed=False,
            )
            Alias.objects.create(
                workspace=workspace, entity=made, key="lamp guild", name="Lamp guild"
            )

        names = {drift.check for drift in health.check(workspace.pk).drifts}

        # It was put in past the services: what follows from it is not there yet.
        assert names == {"projection", "topics", "snapshot"}


# --- files ----------------------------------------------------------------------------------------
def test_a_file_that_is_gone_is_told_with_what_to_do(workspace: Workspace, folder: Path):
    path = file_of(workspace, folder)
    content = path.read_bytes()
    path.unlink()
    try:
        drift = drift_of(health.check(workspace.pk), "missing_files")
    finally:
        path.write_bytes(content)

    assert drift.found.samples == (str(document_id(workspace)),)
    assert "backup" in drift.next_step


def test_a_file_that_belongs_to_nothing_is_moved_and_not_deleted(
    workspace: Workspace, folder: Path
):
    path = folder / str(workspace.pk) / str(uuid4())
    path.write_bytes(b"Who sent me?")
    assert health.check(workspace.pk).is_sound, "a young file may be on its way in"
    known = file_of(workspace, folder)
    for one in (path, known):
        os.utime(one, (0, 0))

    assert drift_of(health.check(workspace.pk), "orphan_files").count == 1
    assert mended(workspace).is_settled

    moved = folder / "set-aside" / str(workspace.pk) / path.name
    assert moved.read_bytes() == b"Who sent me?"
    assert known.exists()


def test_what_a_repair_asks_for_waits_until_it_is_done(workspace: Workspace):
    run(workspace, BREAKS["words: too few"])

    said = health.repair(health.check(workspace.pk))

    assert said == [
        "1 passage has words in the index that differ from its text."
        " The documents' words are indexed again."
    ]
    between = health.check(workspace.pk)
    assert between.is_sound
    assert {one.check for one in between.waiting} == {"work"}
    work(workspace)
    assert health.check(workspace.pk).is_settled
