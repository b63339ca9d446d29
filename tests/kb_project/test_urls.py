from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client

from kb_project import urls


@pytest.mark.django_db
def test_anybody_may_ask_whether_the_server_lives():
    response = Client().get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}
    assert "no-store" in response.headers["Cache-Control"]


@pytest.mark.django_db
def test_a_server_without_its_database_says_so(monkeypatch: pytest.MonkeyPatch):
    def away(_query: str) -> None:
        raise OperationalError("connection refused to db:5432 as kb_app")

    monkeypatch.setattr(urls, "run_sql", away)

    response = Client().get("/healthz")

    assert response.status_code == 503
    assert "kb_app" not in response.content.decode()


@pytest.mark.django_db
def test_it_only_takes_get():
    assert Client().post("/healthz").status_code == 405


@pytest.mark.django_db
def test_the_icon_that_browsers_look_for_is_the_mark():
    response = Client().get("/favicon.ico")

    assert response.status_code == 302
    assert response.headers["Location"].endswith(".svg")
