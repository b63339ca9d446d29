from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.suggestions.papers import ACME, INC, SHORT, UNIT, entities, id_of

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]

WRITES = ("accept/", "reject/", "skip/", "accept-above/")


def look(cast: rows.Cast, user: Any, path: str = "", **query: Any) -> Any:
    return client(user).get(address(cast.workspace, f"suggestions/{path}"), query)


def send(cast: rows.Cast, user: Any, path: str, body: Any, **headers: str) -> Any:
    target = address(cast.workspace, f"suggestions/{path}")
    return client(user).post(target, body, format="json", headers=headers)


def case_with(cast: rows.Cast, key: str) -> dict[str, Any]:
    cases = look(cast, cast.alice).json()["cases"]
    wanted = str(id_of(cast, key))
    [found] = [case for case in cases if wanted in {one["id"] for one in case["entities"]}]
    return dict(found)


def body_of(case: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "entities": [one["id"] for one in case["entities"]],
        "expected": {one["id"]: one["revision"] for one in case["entities"]},
        **more,
    }


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_see_what_may_be_one_and_why(cast: rows.Cast, who: str):
    found = look(cast, getattr(cast, who)).json()

    assert found["counts"] == {"open": 2, "skipped": 0, "decided_today": 0}
    case = case_with(cast, ACME)
    assert "Same name after removing" in case["sentence"]
    assert {one["name"] for one in case["entities"]} == {"Acme Instruments", "Acme Instruments Inc"}
    assert case["pairs"][0]["certainty"] == case["certainty"]
    assert case["entities"][0]["quotes"][0]["title"]


def test_pages_follow_each_other(cast: rows.Cast):
    first = look(cast, cast.alice, limit=1).json()
    second = look(cast, cast.alice, limit=1, after=first["next"]).json()

    assert first["cases"][0]["key"] != second["cases"][0]["key"]
    assert second["next"] == ""
    assert_problem(look(cast, cast.alice, after="nowhere"), 400, "no_such_page")


def test_a_curator_accepts_a_case_once_however_often_it_is_sent(cast: rows.Cast):
    case = case_with(cast, ACME)
    body = body_of(case, kept=case["kept"], reason="The same firm.")

    first = send(cast, cast.alice, "accept/", body, **{"Idempotency-Key": "k1"})
    again = send(cast, cast.alice, "accept/", body, **{"Idempotency-Key": "k1"})

    assert first.status_code == 200, first.json()
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len({ACME, INC} & set(entities(cast))) == 1


def test_who_saw_it_before_it_was_changed_is_told(cast: rows.Cast):
    case = case_with(cast, ACME)
    send(cast, cast.alice, "reject/", {"entities": [str(id_of(cast, one)) for one in (ACME, UNIT)]})

    late = send(cast, cast.alice, "accept/", body_of(case, kept=case["kept"]))

    assert_problem(late, 412, "changed_meanwhile")
    assert {ACME, INC} <= set(entities(cast))


def test_a_curator_says_that_they_are_not_the_same(cast: rows.Cast):
    done = send(cast, cast.alice, "reject/", body_of(case_with(cast, ACME)))

    assert done.status_code == 200
    assert look(cast, cast.alice).json()["counts"]["open"] == 1
    [refused] = look(cast, cast.bob, "refused/").json()["results"]
    assert refused["sentence"].startswith("Alice marked these as not the same on ")
    assert [refused["event"]] == done.json()["events"]


def test_a_case_put_off_comes_back_behind_the_others(cast: rows.Cast):
    first = look(cast, cast.alice).json()["cases"][0]

    assert send(cast, cast.alice, "skip/", {"case": first["key"]}).status_code == 204

    cases = look(cast, cast.alice).json()["cases"]
    assert [case["is_skipped"] for case in cases] == [False, True]
    assert cases[1]["key"] == first["key"]


def test_many_are_accepted_at_one_stroke_after_a_look(cast: rows.Cast):
    seen = look(cast, cast.bob, "accept-above/", threshold=0.5).json()
    body = {"threshold": 0.5, "digest": seen["digest"]}

    done = send(cast, cast.alice, "accept-above/", body)

    assert (seen["cases"], seen["entities"], seen["left"]) == (2, 4, 0)
    assert len(done.json()["events"]) == 2
    assert done.json()["batch"]
    assert len({ACME, INC, UNIT, SHORT} & set(entities(cast))) == 2
    late = send(cast, cast.alice, "accept-above/", {"threshold": 0.5})
    assert_problem(late, 400, "nothing_to_accept")


@pytest.mark.parametrize("threshold", ["0.1", "2", "many", ""])
def test_a_certainty_is_between_a_half_and_one(cast: rows.Cast, threshold: str):
    assert look(cast, cast.alice, "accept-above/", threshold=threshold).status_code == 400
    body = {"threshold": threshold}
    assert send(cast, cast.alice, "accept-above/", body).status_code == 400


def test_what_makes_no_sense_is_refused(cast: rows.Cast):
    one = str(id_of(cast, ACME))

    assert send(cast, cast.alice, "accept/", {"entities": [one, one]}).status_code == 400
    twice = {"entities": [one, one], "kept": one}
    assert send(cast, cast.alice, "accept/", twice).status_code == 400
    assert send(cast, cast.alice, "reject/", {"entities": [one]}).status_code == 400
    many = {"entities": [str(uuid4()) for _ in range(51)]}
    assert send(cast, cast.alice, "reject/", many).status_code == 400
    nobody = {"entities": [one, str(uuid4())]}
    assert_problem(send(cast, cast.alice, "reject/", nobody), 404, "not_found")
    wrong = {"entities": [one, str(id_of(cast, INC))], "expected": {"x": 1}}
    assert send(cast, cast.alice, "reject/", wrong).status_code == 400


@pytest.mark.parametrize("path", WRITES)
def test_a_reader_decides_nothing_and_a_stranger_finds_nothing(cast: rows.Cast, path: str):
    assert send(cast, cast.bob, path, {}).status_code == 403
    assert_nothing_there(send(cast, cast.charlie, path, {}))


@pytest.mark.parametrize("path", ["", "refused/", "accept-above/?threshold=0.9"])
def test_a_stranger_sees_nothing(cast: rows.Cast, path: str):
    assert_nothing_there(look(cast, cast.charlie, path))
