"""Which model's vectors are searched: chosen, being made, or named by settings."""

from __future__ import annotations

import pytest

from ingestion.models import Chunk
from ingestion.vectors import chunks
from kb_project.ports import build_ports
from tests import rows
from workspaces import access
from workspaces.models import EmbeddingIndex, IndexState, Workspace
from workspaces.ports import LOCAL

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


def choose(workspace: Workspace, state: IndexState, **values: str) -> None:
    with access.in_workspace(workspace.pk):
        EmbeddingIndex.objects.create(
            workspace=workspace, dimension=8, fingerprint="own/8", state=state, **values
        )


def test_without_a_choice_the_model_of_settings_is_searched_by(workspace: Workspace):
    assert chunks.searched(workspace.pk) == build_ports().embedder.fingerprint


def test_the_chosen_model_is_searched_by(workspace: Workspace):
    choose(workspace, IndexState.ACTIVE)

    assert chunks.searched(workspace.pk) == "own/8"


@pytest.mark.parametrize("state", [IndexState.BUILDING, IndexState.RETIRED])
def test_one_that_is_being_made_or_was_given_up_is_not(state: IndexState, workspace: Workspace):
    choose(workspace, state)

    assert chunks.searched(workspace.pk) == build_ports().embedder.fingerprint


def test_a_local_choice_means_the_model_inside(workspace: Workspace):
    choose(workspace, IndexState.ACTIVE, provider=LOCAL)

    assert chunks.searched(workspace.pk) == build_ports().embedder.fingerprint


def test_batches_are_bounded_in_number_and_in_characters_and_keep_the_order():
    short, long = Chunk(text="x" * 10), Chunk(text="x" * chunks.BATCH_CHARACTERS)
    given = [short, long, short, short, short, long, long]

    batches = list(chunks.in_batches(given, 2))

    assert [len(batch) for batch in batches] == [1, 1, 2, 1, 1, 1]
    assert [chunk for batch in batches for chunk in batch] == given
    assert list(chunks.in_batches([], 2)) == []
