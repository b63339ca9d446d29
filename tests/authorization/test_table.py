"""Everyone gets exactly the allowed answer at every page and every operation of the API."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.test.client import encode_multipart
from pytest_django import Settings

from tests.authorization.addresses import Address, all_addresses
from tests.authorization.callers import ALLOWED, CALLERS, SIGN_IN, Caller, callers_of, expected
from tests.authorization.operation import Op
from tests.authorization.operations import NAMESPACES, TABLE
from tests.authorization.world import World, make_world
from workspaces.accounts import forms

pytestmark = pytest.mark.django_db

BOUNDARY = "lamp"
SIGN_IN_PAGES = ("/accounts/login/?next=", "/admin/login/?next=")


@pytest.fixture
def world(
    media: Path, fake_embedder: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> World:
    # To hash a password takes half a second on purpose, and to ask for a reset a whole one.
    monkeypatch.setattr(forms, "RESET_SECONDS", 0.0)
    settings.MODEL_HOSTS_ALLOWED = ["models.example.com"]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return make_world()


# --- the table is complete ------------------------------------------------------------------------
def test_the_table_has_every_operation_and_no_other(world: World):
    client = client_of("owner", world)
    listed = {op.name for op in TABLE if op.url.partition(":")[0] not in NAMESPACES}
    found = {
        f"{method} {address.name}"
        for address in all_addresses().values()
        if address.namespace not in NAMESPACES
        for method in address.methods(path(world, address), client)
    }

    assert found - listed == set(), "give each a line in tests/authorization/of_*.py"
    assert listed - found == set(), "these do not exist"


def test_no_operation_is_listed_twice():
    listed = Counter(map(str, TABLE))

    assert [name for name, number in listed.items() if number > 1] == []


# --- everyone gets the allowed answer -------------------------------------------------------------
def test_everyone_gets_exactly_the_allowed_answer(world: World):
    clients = {caller: client_of(caller.name, world) for caller in CALLERS}
    wrong = [
        f"{caller.name}: {op} should be {expected(caller, op)}, was {seen}"
        for op in TABLE
        for caller in callers_of(op)
        if (seen := wrong_answer(caller, clients[caller], op, world))
    ]

    assert not wrong, "\n".join(wrong)


def test_pages_that_are_not_ours_are_for_staff(world: World):
    wrong = [
        f"{caller.name}: {op} was {seen}"
        for caller in CALLERS
        if caller.name in ("anonymous", "owner")
        for op in unlisted()
        if (seen := wrong_answer(caller, client_of(caller.name, world), op, world))
    ]

    assert not wrong, "\n".join(wrong)


def unlisted() -> Iterable[Op]:
    """The pages that are not ours and have no line, as their namespace says."""
    listed = {op.url for op in TABLE}
    for address in all_addresses().values():
        if address.namespace in NAMESPACES and address.name not in listed:
            yield Op(
                "GET", address.name, NAMESPACES[address.namespace], at={"workspace_id": "space"}
            )


def client_of(name: str, world: World) -> Client:
    [caller] = [caller for caller in CALLERS if caller.name == name]
    return caller.client(world.people, world.secrets)


def path(world: World, address: Address, op: Op | None = None) -> str:
    lines = [op] if op else [op for op in TABLE if op.url == address.name]
    at = lines[0].at if lines else {}
    return address.path({part: world.part(part, at) for part in address.parts})


def wrong_answer(caller: Caller, client: Client, op: Op, world: World) -> str:
    """Call, and return the answer if it is not the allowed one, else ''.

    What the operation changed is undone: the next caller finds the same.
    """
    cache.clear()  # which counts what people try
    cookies = SimpleCookie(client.cookies)
    address = f"{path(world, all_addresses()[op.url], op)}?{world.query(op.query)}"
    with transaction.atomic():
        response: Any = client.generic(op.method, address, **body(op, world))
        transaction.set_rollback(True)
    client.cookies = cookies
    where = response.headers.get("Location", "")
    wanted = expected(caller, op)
    return "" if is_right(op, wanted, response.status_code, where) else said_of(response)


def body(op: Op, world: World) -> dict[str, Any]:
    sent = world.filled(op.sends)
    if op.is_api and not op.files:
        has_body = sent is not None
        return {"data": json.dumps(sent), "content_type": "application/json"} if has_body else {}
    if op.method == "GET":
        return {}
    files = {name: SimpleUploadedFile(*file) for name, file in op.files.items()}
    return {
        "data": encode_multipart(BOUNDARY, {**(sent or {}), **files}),
        "content_type": f"multipart/form-data; boundary={BOUNDARY}",
    }


def said_of(response: Any) -> str:
    is_json = response.headers.get("Content-Type", "").endswith("json")
    said = response.content.decode()[:300] if is_json else response.headers.get("Location", "")
    return f"{response.status_code} {said}"


def is_right(op: Op, wanted: str | int, status: int, leads_to: str) -> bool:
    signs_in = leads_to.startswith(SIGN_IN_PAGES)
    if wanted == SIGN_IN:
        return status == 302 and signs_in
    if wanted == ALLOWED:
        return status == op.answers if op.answers else status < 400 and not signs_in
    return status == wanted
