from __future__ import annotations

import secrets
import subprocess
import sys
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.core.checks import CheckMessage, Tags
from django.core.checks.registry import registry
from django.db import connections

from kb_project import checks
from kb_project.confinement.layers import Layers
from kb_project.database.config import OWNER_ALIAS
from kb_project.env import child_environment
from kb_project.settings import BASE_DIR
from kb_project.sql import run_sql

MAIL = "django.core.mail.backends"


@pytest.fixture(autouse=True)
def _confined(monkeypatch) -> None:
    """As on a kernel that offers every layer."""
    everything = Layers(account=True, network=True, files=True, calls=True)
    monkeypatch.setattr(checks, "layers_here", lambda: everything)


# Django's own checks take half a second, each time.
OURS = [one for one in registry.get_checks() if one.__module__ == checks.__name__]


def run_ours(databases: list[str] | None = None) -> list[CheckMessage]:
    return [
        message
        for check in OURS
        if databases or Tags.database not in check.tags
        for message in check(app_configs=None, databases=databases)
    ]


def found(databases: list[str] | None = None) -> set[str]:
    return {str(message.id) for message in run_ours(databases)}


def test_the_settings_as_they_are_pass():
    assert found() == set()


@pytest.mark.parametrize(
    ("overlap", "size", "ids"),
    [(100, 100, {"kb.E001"}), (200, 100, {"kb.E001"}), (99, 100, set())],
)
def test_chunks_must_get_past_each_other(settings, overlap: int, size: int, ids: set[str]):
    settings.CHUNK_OVERLAP, settings.CHUNK_TOKENS = overlap, size

    assert found() == ids


def test_the_queue_must_not_hand_out_what_still_runs(settings):
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, "retry": 60, "timeout": 60}

    assert found() == {"kb.E002"}


def test_an_unknown_way_to_chunk_is_named(settings):
    settings.CHUNK_STRATEGY = "words"

    [message] = [one for one in run_ours() if one.id == "kb.E005"]

    assert "'words'" in message.msg
    assert "sentence" in str(message.hint)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_missing_layers_around_the_readers_are_named(settings, monkeypatch, is_allowed: bool):
    settings.ALLOW_UNCONFINED_PARSING = is_allowed
    monkeypatch.setattr(checks, "layers_here", lambda: Layers(account=True, files=True))

    [message] = [one for one in run_ours() if one.id == "kb.W020"]

    assert "network, calls" in message.msg
    assert ("not read" in message.msg) is not is_allowed


def test_debuggers_are_warned_about(settings):
    settings.ALLOW_DEBUGGERS = True

    assert found() == {"kb.W021"}


@pytest.mark.django_db
def test_the_restricted_role_and_its_pgvector_pass():
    assert found(databases=["default"]) == set()


def test_a_check_without_a_database_touches_none():
    assert checks.role_is_bound_by_row_security(None, databases=[OWNER_ALIAS]) == []
    assert checks.vectors_are_there(None, databases=None) == []


@pytest.mark.parametrize("flags", [(True, False), (False, True)])
def test_a_role_above_row_security_is_refused(monkeypatch, flags: tuple[bool, bool]):
    monkeypatch.setattr(checks, "run_sql", lambda _query: [("postgres", *flags)])

    [message] = checks.role_is_bound_by_row_security(None, databases=["default"])

    assert message.id == "kb.E003"
    assert "'postgres'" in message.msg


@pytest.mark.django_db(databases=["default", OWNER_ALIAS])
def test_a_role_that_owns_tables_is_warned_of(monkeypatch):
    assert checks.role_owns_nothing(None, databases=["default"]) == []
    monkeypatch.setattr(checks, "run_sql", partial(run_sql, using=OWNER_ALIAS))

    [message] = checks.role_owns_nothing(None, databases=["default"])

    assert message.id == "kb.W001"


@pytest.mark.parametrize(
    ("installed", "said"),
    [([], "missing"), ([("0.7.4",)], "version 0.7.4"), ([("0.8.0",)], ""), ([("1.0",)], "")],
)
def test_an_old_or_missing_pgvector_is_refused(monkeypatch, installed: list[Any], said: str):
    monkeypatch.setattr(checks, "run_sql", lambda _query: installed)

    messages = checks.vectors_are_there(None, databases=["default"])

    assert [message.id for message in messages] == (["kb.E004"] if said else [])
    assert all(said in message.msg for message in messages)


@pytest.mark.django_db
def test_the_application_connects_as_the_restricted_role():
    [(name, is_superuser, bypasses)] = checks.run_sql(checks.WHO_AM_I)

    assert name == connections["default"].settings_dict["USER"]
    assert not is_superuser
    assert not bypasses


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({"MODEL_FOR": "everyone"}, {"kb.E007"}),
        ({"MODEL_PRICES": ["small-1=0.15"]}, {"kb.E008"}),
        ({"MODEL_PRICES": ["=1/2"]}, {"kb.E008"}),
        ({"MODEL_PRICES": ["small-1=-1/2"]}, {"kb.E008"}),
        ({"MODEL_CAP_TOTAL": Decimal(5), "MODEL_NAME": "small-1"}, {"kb.E009"}),
        (
            {
                "MODEL_CAP_TOTAL": Decimal(5),
                "MODEL_NAME": "org/small-1",
                "MODEL_PRICES": ["org/small-1=0.15/0.60/0.05"],
            },
            set(),
        ),
    ],
)
def test_what_the_operator_says_of_the_model_agrees(
    settings, changes: dict[str, Any], ids: set[str]
):
    for name, value in changes.items():
        setattr(settings, name, value)

    assert found() == ids


@pytest.mark.parametrize(
    ("way", "domains", "verification", "ids"),
    [
        ("open", [], "none", set()),
        ("invitation", [], "none", set()),
        ("domain", ["corp.test"], "mandatory", set()),
        ("domain", [], "mandatory", {"kb.E021"}),
        ("domain", ["corp.test"], "none", {"kb.E022"}),
        ("anyone", [], "none", {"kb.E020"}),
    ],
)
def test_who_may_sign_up_is_said_completely(settings, way, domains, verification, ids):
    settings.SIGN_UP, settings.SIGN_UP_DOMAINS = way, domains
    settings.ACCOUNT_EMAIL_VERIFICATION = verification

    assert found() == ids


def test_with_tls_and_mail_django_finds_nothing_to_warn_of():
    environment = child_environment(
        BEHIND_TLS="true",
        EMAIL_HOST="smtp.test",
        DEBUG="false",
        SECRET_KEY=secrets.token_urlsafe(50),
        ALLOWED_HOSTS="kb.example.org",
        CSRF_TRUSTED_ORIGINS="https://kb.example.org",
        PUBLIC_ADDRESS="https://kb.example.org",
        HOST="0.0.0.0",  # noqa: S104
        TRUSTED_PROXIES="10.0.0.0/8",
    )
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]

    done = subprocess.run(command, cwd=BASE_DIR, env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("host", "mail", "expected"),
    [
        ("127.0.0.1", {}, ("none", "concordance-demo", False, f"{MAIL}.console.EmailBackend")),
        ("192.0.2.1", {}, ("none", "", False, f"{MAIL}.console.EmailBackend")),
        (
            "127.0.0.1",
            {"EMAIL_HOST": "smtp.test"},
            ("mandatory", "concordance-demo", True, f"{MAIL}.smtp.EmailBackend"),
        ),
    ],
)
def test_mail_and_host_decide_what_accounts_need(host, mail, expected):
    names = (
        *("ACCOUNT_EMAIL_VERIFICATION", "DEMO_PASSWORD", "ACCOUNT_EMAIL_NOTIFICATIONS"),
        "EMAIL_BACKEND",
    )
    program = f"from kb_project import settings as s; print([getattr(s, n) for n in {names}])"

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=BASE_DIR,
        env=child_environment(HOST=host, **mail),
        capture_output=True,
        text=True,
    )

    assert done.stdout.strip() == str(list(expected)), done.stderr
