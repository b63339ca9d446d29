"""E-mails about watched topics, through the code path that sends them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import transaction
from django.test import Client
from django.utils import timezone

from ingestion import tasks
from ingestion.models import Community, TopicWatch
from ingestion.topics import digests, services
from tests import rows
from tests.ingestion import state
from tests.ingestion.once import Once, once_a_module
from workspaces import access
from workspaces.models import Membership, User

pytestmark = pytest.mark.django_db

HOST = "https://kb.example.com"
DIARY = "Dora Quist met Ada Lind in Skarrow. Dora Quist keeps a diary in Skarrow."
LINK = re.compile(rf"{HOST}(/watched/stop/[^/\s]+/)")


class Broken(EmailBackend):
    """A server that takes no mail."""

    def send_messages(self, messages: Any) -> int:
        raise ConnectionRefusedError


@pytest.fixture(autouse=True)
def configured(settings: Any) -> None:
    settings.PUBLIC_ADDRESS = HOST


def make_watched() -> rows.Cast:
    cast = rows.make_cast()
    verify(cast.bob)
    state.read(cast.workspace)
    watch(cast, cast.bob)
    return cast


watched_once = once_a_module(make_watched)


@pytest.fixture
def cast(watched_once: Once[rows.Cast], media: Path, fake_embedder: None) -> rows.Cast:
    return watched_once.for_a_test(media)


def verify(user: User) -> None:
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)


@transaction.atomic
def watch(cast: rows.Cast, user: User) -> None:
    place = access.workspace_for_reading(user=user, workspace_id=cast.workspace.slug)
    topic = Community.objects.in_workspace(place).get(
        level=0, members__entity__name="Ada Lind", members__workspace=place
    )
    services.topic_watch(workspace=place, community_id=topic.pk)


def change(cast: rows.Cast, **values: Any) -> None:
    with access.in_workspace(cast.workspace.pk):
        TopicWatch.objects.in_workspace(cast.workspace).update(**values)


def test_a_member_gets_one_mail_about_what_changed(cast: rows.Cast):
    assert digests.send_all() == 0

    state.read(cast.workspace, {"Diary": DIARY})
    tasks.check_all()

    [sent] = mail.outbox
    assert sent.to == [cast.bob.email]
    assert re.fullmatch(r"\d+ changes in topics you watch in Harbour", str(sent.subject))
    assert "1 new document: Diary" in sent.body
    assert "1 entity joined: Dora Quist" in sent.body
    assert f"{HOST}/w/{cast.workspace.slug}/topics/" in sent.body
    # Titles and names, and nothing that a document says.
    assert "keeps a diary" not in sent.body
    assert sent.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    # Not again today, nor tomorrow unless more has changed.
    tomorrow = timezone.now() + timedelta(days=1)
    assert digests.send_all() == 0
    assert digests.send_all(tomorrow) == 0
    state.read(cast.workspace, {"Sequel": f"{DIARY} Ada Lind laughed at Dora Quist."})
    assert digests.send_all() == 0
    assert digests.send_all(tomorrow) == 1


def test_what_was_seen_is_not_mailed(cast: rows.Cast):
    state.read(cast.workspace, {"Diary": DIARY})
    with access.in_workspace(cast.workspace.pk):
        [row] = TopicWatch.objects.in_workspace(cast.workspace)
    client = Client()
    client.force_login(cast.bob)
    client.get(f"/w/{cast.workspace.slug}/topics/{row.topic}/")

    assert digests.send_all() == 0


def test_a_mail_that_cannot_be_sent_is_tried_again(
    cast: rows.Cast, settings: Any, caplog: pytest.LogCaptureFixture
):
    state.read(cast.workspace, {"Diary": DIARY})
    working = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = f"{__name__}.Broken"
    caplog.clear()

    assert digests.send_all() == 0

    assert "error=ConnectionRefusedError" in caplog.text
    assert "Dora" not in caplog.text
    settings.EMAIL_BACKEND = working
    assert digests.send_all() == 1


def test_the_link_in_a_mail_stops_them_without_signing_in(cast: rows.Cast):
    state.read(cast.workspace, {"Diary": DIARY})
    digests.send_all()
    found = LINK.search(str(mail.outbox[0].body))
    assert found
    strict = Client(enforce_csrf_checks=True)

    asked = strict.get(found[1])
    assert "Stop e-mails about topics?" in asked.content.decode()
    assert asked.headers["Referrer-Policy"] == "no-referrer"
    with access.in_workspace(cast.workspace.pk):
        assert TopicWatch.objects.in_workspace(cast.workspace).get().mails
    # As a mail program does it.
    stopped = strict.post(found[1], {"List-Unsubscribe": "One-Click"})

    assert "E-mails stopped" in stopped.content.decode()
    with access.in_workspace(cast.workspace.pk):
        assert not TopicWatch.objects.in_workspace(cast.workspace).get().mails
    assert strict.post(f"{found[1][:-2]}x/").status_code == 404
    state.read(cast.workspace, {"Sequel": f"{DIARY} Ada Lind laughed."})
    assert digests.send_all(timezone.now() + timedelta(days=1)) == 0


@pytest.mark.parametrize(
    "reason", ["unverified", "inactive", "removed", "off", "console", "address"]
)
def test_some_get_no_mail(cast: rows.Cast, settings: Any, reason: str):
    state.read(cast.workspace, {"Diary": DIARY})
    if reason == "unverified":
        EmailAddress.objects.update(verified=False)
    elif reason == "inactive":
        User.objects.filter(pk=cast.bob.pk).update(is_active=False)
    elif reason == "removed":
        with access.in_workspace(cast.workspace.pk):
            Membership.objects.in_workspace(cast.workspace).filter(user=cast.bob).delete()
    elif reason == "off":
        change(cast, mails=False)
    elif reason == "console":
        settings.EMAIL_BACKEND = settings.CONSOLE_MAIL
    else:
        settings.PUBLIC_ADDRESS = ""

    assert digests.send_all() == 0
    assert mail.outbox == []
