from __future__ import annotations

from typing import Any

import pytest

from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.workspaces.models_rows import ENDPOINT, KEY
from workspaces.ports import ports_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

CHOICE = {"endpoint": ENDPOINT, "key": KEY, "model": "small-1"}
DEFAULTS = {"allows_general": False, "wants_judge": True, "local_extraction": False}
WISHES = {"allows_general": True, "wants_judge": False, "local_extraction": True}


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def put(user: Any, cast: rows.Cast, body: dict[str, Any]) -> Any:
    return client(user).put(address(cast.workspace, "models/"), body, format="json")


def wishes_of(cast: rows.Cast) -> dict[str, bool]:
    options = ports_for(cast.workspace.pk).options
    return {name: getattr(options, name) for name in WISHES}


def test_answers_keep_to_the_documents_and_are_judged_unless_somebody_chose_otherwise(cast):
    put(cast.alice, cast, CHOICE)

    assert wishes_of(cast) == DEFAULTS


def test_an_owner_chooses_and_a_reader_sees_it(cast):
    chosen = put(cast.alice, cast, CHOICE | WISHES)
    seen = client(cast.bob).get(address(cast.workspace, "models/")).json()

    assert chosen.status_code == 200, chosen.json()
    assert {name: seen[name] for name in WISHES} == WISHES
    assert wishes_of(cast) == WISHES


def test_what_is_not_sent_stays(cast):
    put(cast.alice, cast, CHOICE | WISHES)
    put(cast.alice, cast, {"endpoint": ENDPOINT, "model": "big-1"})

    assert wishes_of(cast) == WISHES


@pytest.mark.parametrize("name", sorted(WISHES))
def test_what_is_neither_yes_nor_no_is_refused(cast, name):
    assert put(cast.alice, cast, CHOICE | {name: "perhaps"}).status_code == 400


def test_readers_may_not_choose_and_strangers_find_nothing(cast):
    assert_problem(put(cast.bob, cast, CHOICE | WISHES), 403, "forbidden")
    assert_nothing_there(put(cast.charlie, cast, CHOICE | WISHES))
    assert wishes_of(cast) == DEFAULTS
