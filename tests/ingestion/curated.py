"""What the tests of curators' pages share: a small graph, and hands that use its forms."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from django.test import Client

from ingestion.history import recording
from ingestion.models import Entity, HistoryEvent, Relationship
from ingestion.stages.describe.recompute import recompute_rows
from tests import rows
from tests.ingestion.curation.ruled import entity
from tests.ingestion.pages import address, client_of
from tests.ingestion.stages.resolve.said import Said, paper, run
from workspaces import access
from workspaces.models import Workspace

ADA, OLAF, SKARROW = ("Ada Lind", "person"), ("Olaf Brekke", "person"), ("Skarrow", "place")
MISS_LIND = ("Miss Lind", "person")


def make_graph(cast: rows.Cast) -> Workspace:
    """Ada Lind is named in three papers, Miss Lind in two, Olaf Brekke and Skarrow beside them."""
    said = {
        "log": Said([ADA, SKARROW], links=[(0, 1, "Ada keeps the light.")]),
        "letter": Said([MISS_LIND, SKARROW], links=[(0, 1, "Miss Lind left.")]),
        "visit": Said([ADA, OLAF], links=[(0, 1, "Ada met Olaf.")]),
        "census": Said([ADA, MISS_LIND], links=[(0, 1, "Two women.")]),
    }
    run(*(paper(cast.workspace, name, one) for name, one in said.items()))
    with access.in_workspace(cast.workspace.pk):
        recompute_rows(cast.workspace.pk)
    return cast.workspace


def named(cast: rows.Cast, name: str, sense: int = 0) -> Entity:
    found = entity(cast.workspace, name, sense)
    assert found is not None, name
    return found


def link(cast: rows.Cast, source: str, target: str) -> Relationship:
    with access.in_workspace(cast.workspace.pk):
        return Relationship.objects.in_workspace(cast.workspace).get(
            source=named(cast, source), target=named(cast, target)
        )


def seen(cast: rows.Cast, *ids: UUID) -> list[str]:
    """What a form of a page that was opened now carries."""
    with access.in_workspace(cast.workspace.pk):
        found = recording.revisions(cast.workspace, ids)
    return [f"{one}:{revision}" for one, revision in found.items()]


def send(user: Any, cast: rows.Cast, page: str, *args: object, **form: Any) -> Any:
    return client_of(user).post(address(page, cast, *args), form)


def shown(user: Any, cast: rows.Cast, page: str, *args: object, **query: Any) -> str:
    """The text of a page, as people read it."""
    response = client_of(user).get(address(page, cast, *args), query)
    assert response.status_code in {200, 410}, response.status_code
    return words(response)


def words(response: Any) -> str:
    text = re.sub(r"<[^>]+>", " ", response.content.decode())
    return " ".join(text.replace("&#x27;", "'").replace("&quot;", '"').split())


def followed(user: Any, cast: rows.Cast, page: str, *args: object, **form: Any) -> str:
    """The text of the page that a form leads to when it is done."""
    client: Client = client_of(user)
    response = client.post(address(page, cast, *args), form, follow=True)
    assert response.redirect_chain, response.status_code
    return words(response)


def last_event(cast: rows.Cast) -> HistoryEvent:
    with access.in_workspace(cast.workspace.pk):
        return HistoryEvent.objects.in_workspace(cast.workspace).order_by("-sequence")[0]
