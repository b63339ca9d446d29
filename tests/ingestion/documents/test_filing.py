"""Where documents are filed, the files themselves, and how entities are named."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ingestion.documents import lifecycle
from ingestion.documents.collections.services import collection_named
from ingestion.documents.metadata import clean_tags
from ingestion.models import Collection
from ingestion.resolution.keys import entity_id, link_id, relationship_id
from kb_project.errors import InputError
from tests import rows
from workspaces import access

NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
SENSES = st.integers(0, 5)


# --- tags -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        ([], []),
        (["", "  ", "\t"], []),
        (["Harbour", " harbour ", "HARBOUR"], ["harbour"]),
        (["b", "a", "b"], ["b", "a"]),
        ([" " + "x" * 60 + " "], ["x" * 60]),
        ([str(number % 20) for number in range(30)], [str(number) for number in range(20)]),
    ],
)
def test_tags_are_kept_in_one_spelling_each_once(given_: list[str], kept: list[str]):
    assert clean_tags(given_) == kept


@pytest.mark.parametrize(
    "given_", [["x" * 61], ["a", "x" * 59 + " y"], [str(number) for number in range(21)]]
)
def test_tags_that_are_too_many_or_too_long_are_refused_and_none_is_cut(given_: list[str]):
    with pytest.raises(InputError, match="at most 20 tags of at most 60 characters"):
        clean_tags(given_)


@given(st.lists(st.text(max_size=30), max_size=20))
def test_what_was_cleaned_is_clean(tags: list[str]):
    once = clean_tags(tags)

    assert clean_tags(once) == once
    assert all(0 < len(tag) <= 60 and tag == tag.strip() for tag in once)
    assert len(once) == len(set(once)) <= 20


# --- collections ----------------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_collection_is_made_once_however_its_name_is_typed():
    workspace = rows.make_workspace()

    with access.in_workspace(workspace.pk):
        made = [collection_named(workspace.pk, name) for name in ("Old  logs", " old Logs\n")]
        assert Collection.objects.in_workspace(workspace).count() == 1

    assert made[0] == made[1]
    assert made[0] is not None
    assert made[0].name == "Old logs"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "  ", "\n\t"])
def test_no_name_is_no_collection(name: str):
    workspace = rows.make_workspace()

    with access.in_workspace(workspace.pk):
        assert collection_named(workspace.pk, name) is None
        assert not Collection.objects.in_workspace(workspace).exists()


@pytest.mark.django_db
def test_a_name_is_cut_where_the_column_ends_and_has_no_space_there():
    workspace = rows.make_workspace()

    with access.in_workspace(workspace.pk):
        made = collection_named(workspace.pk, f"{'x' * 119} and more")
        again = collection_named(workspace.pk, "x" * 119)

    assert made is not None
    assert made.name == "x" * 119
    assert made == again


@pytest.mark.django_db
def test_another_workspace_has_collections_of_its_own():
    workspace, other = rows.make_workspace(), rows.make_workspace("Elsewhere")
    rows.make_collection(other, "Logs")

    with access.in_workspace(workspace.pk):
        made = collection_named(workspace.pk, "Logs")

    assert made is not None
    assert made.workspace_id == workspace.pk


# --- files ----------------------------------------------------------------------------------------
def test_a_file_goes_with_its_pictures_and_its_neighbours_stay(tmp_path: Path, settings: Any):
    settings.MEDIA_ROOT = str(tmp_path)
    for name in ("w/a", "w/a.pages/1.png", "w/ab", "w/ab.pages/1.png", "v/a"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")

    lifecycle.forget(["w/a", "w/never was"])

    there = {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    }
    assert there == {"w/ab", "w/ab.pages/1.png", "v/a"}


def test_what_lies_outside_the_media_folder_is_not_touched(tmp_path: Path, settings: Any):
    settings.MEDIA_ROOT = str(tmp_path / "media")
    outside = tmp_path / "secret"
    outside.write_bytes(b"x")

    with pytest.raises(Exception, match="outside of the base path"):
        lifecycle.forget(["../secret"])

    assert outside.exists()


# --- names and ids --------------------------------------------------------------------------------
@given(st.uuids(), NAMES, SENSES, NAMES, SENSES)
def test_two_refs_have_one_id_only_if_they_are_the_same(
    workspace: uuid.UUID, key: str, sense: int, other: str, other_sense: int
):
    same = (key, sense) == (other, other_sense)

    assert (entity_id(workspace, key, sense) == entity_id(workspace, other, other_sense)) is same


@given(st.uuids(), st.uuids(), NAMES, SENSES)
def test_an_entity_has_another_id_in_another_workspace(
    one: uuid.UUID, other: uuid.UUID, key: str, sense: int
):
    assert (entity_id(one, key, sense) == entity_id(other, key, sense)) is (one == other)


@given(st.uuids(), *[st.tuples(NAMES, SENSES)] * 4)
def test_two_links_have_one_id_only_if_their_ends_are_the_same(
    workspace: uuid.UUID,
    source: tuple[str, int],
    target: tuple[str, int],
    other_source: tuple[str, int],
    other_target: tuple[str, int],
):
    same = (source, target) == (other_source, other_target)

    one = link_id(workspace, source, target)

    assert (one == link_id(workspace, other_source, other_target)) is same
    assert one != entity_id(workspace, *source)


@given(st.uuids(), NAMES, NAMES)
def test_a_link_leads_one_way(workspace: uuid.UUID, source: str, target: str):
    there, back = (
        relationship_id(workspace, source, target),
        relationship_id(workspace, target, source),
    )

    assert (there == back) is (source == target)


def test_ids_are_those_that_are_stored():
    workspace = uuid.UUID(int=1)

    assert entity_id(workspace, "ada lind") == uuid.UUID("a822e4da-1be8-7f03-78e6-4699c5628fe5")
    assert link_id(workspace, ("ada lind", 0), ("orran", 2)) == uuid.UUID(
        "cadd607b-26b0-8733-6eb7-470077ea7bb2"
    )
