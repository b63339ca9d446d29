"""Whatever a client sends, the API answers as its OpenAPI schema says, and never with a 5xx.

schemathesis makes requests from the schema: valid ones and broken ones. Each is undone after its
answer, so every request finds the same workspace. ``SCHEMA_EXAMPLES`` sets the requests for each
operation, which each caller sends; the same ones are made every time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import hypothesis
import pytest
import requests
import schemathesis
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from hypothesis import strategies as st
from pytest_django import Settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from kb_project.env import env_int
from tests.authorization.callers import CALLERS, IS_THOROUGH
from tests.authorization.world import WHERE, World, make_world

pytestmark = pytest.mark.django_db

SENDERS: Final = ("owner", "read_only_token", *(("viewer",) if IS_THOROUGH else ()))
"""The callers that each request is made as. The token is a viewer's, and may as much."""
EXAMPLES: Final = env_int("SCHEMA_EXAMPLES", 3)
CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
HOST: Final = "http://testserver"
NOT_SENT: Final = frozenset({"Authorization", "Cookie", "Content-Length"})
"""Generated headers that are left out: the caller signs in."""
_ids: list[str] = []
"""Ids of the objects in the world, which generated ids are taken from."""

schemathesis.openapi.format(
    "uuid",
    st.one_of(st.integers(0, 99).map(lambda n: _ids[n % len(_ids)]), st.uuids().map(str)),
)


@pytest.fixture(scope="module")
def schema() -> Any:
    made = SchemaGenerator().get_schema(request=None, public=True)
    return schemathesis.openapi.from_dict(made)


@pytest.fixture
def world(media: Path, fake_embedder: None, settings: Settings) -> Iterator[World]:
    world = make_world()
    _ids[:] = sorted({str(one) for one in world.objects.values() if len(str(one)) == 36})
    yield world
    _ids.clear()


def test_every_answer_is_one_that_the_schema_describes(schema: Any, world: World):
    clients = {
        caller.name: caller.client(world.people, world.secrets)
        for caller in CALLERS
        if caller.name in SENDERS
    }
    wrong = [
        failure
        for result in schema.get_all_operations()
        for failure in failures_of(result.ok(), clients, world)
    ]

    assert not wrong, "\n\n".join(wrong)


def failures_of(operation: Any, clients: Mapping[str, Client], world: World) -> list[str]:
    """What is wrong with the answers of one operation, one description a kind of failure."""
    found: dict[str, str] = {}

    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(cases_of(operation, world))
    def try_one(case: Any) -> None:
        for name, client in clients.items():
            response = answer_to(case, client)
            try:
                case.validate_response(response, checks=CHECKS)
            except (Failure, FailureGroup) as error:
                failures = error.exceptions if isinstance(error, FailureGroup) else [error]
                for failure in failures:
                    kind = f"{type(failure).__name__} {response.status_code}"
                    title = f"{name}: {operation.label}: {kind}"
                    curl = case.as_curl_command()
                    found.setdefault(title, f"{title}\n{failure}\n{curl}"[:1500])

    try_one()
    return list(found.values())


def cases_of(operation: Any, world: World) -> st.SearchStrategy[Any]:
    """Valid and broken requests, most of them about objects that exist."""
    there = {
        parameter.name: world.objects[WHERE[parameter.name]]
        for parameter in operation.path_parameters
        if parameter.name in WHERE
    }
    there = {name: str(value) for name, value in there.items()}
    fixed = {"path_parameters": there} if there else {}
    return st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE, **fixed),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE, **fixed),
    )


def answer_to(case: Any, client: Client) -> Response:
    """The product's answer. What the request changed is undone."""
    sent = requests.Request(**case.as_transport_kwargs(base_url=HOST)).prepare()
    given = urlsplit(str(sent.url))
    headers = {k: _text(v) for k, v in sent.headers.items() if k not in NOT_SENT}
    body = sent.body.encode() if isinstance(sent.body, str) else sent.body or b""
    cache.clear()
    with transaction.atomic():
        response: Any = client.generic(
            str(sent.method),
            f"{given.path}?{given.query}",
            data=body,
            content_type=headers.pop("Content-Type", ""),
            headers=headers,
        )
        content = b"" if response.streaming else response.content
        transaction.set_rollback(True)
    return Response(
        response.status_code,
        {name: [value] for name, value in response.headers.items()},
        content,
        sent,
        elapsed=0.0,
        verify=False,
        message=HTTPStatus(response.status_code).phrase,
    )


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
