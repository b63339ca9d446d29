"""E-mails about watched topics: one a day for a member and a workspace, if something changed.

Every night, by ``ingestion.tasks.check_all``. A mail names topics, entities and documents that the
member may read when it is sent, and quotes none. One that cannot be sent is tried again the next
night.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from ingestion.knowledge import watches
from ingestion.knowledge.watches import WatchedTopic
from ingestion.models import TopicWatch
from ingestion.topics import services
from kb_project import mail
from kb_project.errors import KBError, NotFoundError
from workspaces import access
from workspaces.models import Membership, User, Workspace

logger = logging.getLogger(__name__)

A_DAY: Final = timedelta(hours=20)
"""Less than a day, so that a run that begins a little earlier does not skip one."""
SALT: Final = "stop mails about topics"
NAMES: Final = 5
"""Documents and entities of a topic that a mail names."""


@dataclass(frozen=True, slots=True)
class DigestTopic:
    """A topic as a mail shows it."""

    title: str
    link: str
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Digest:
    """A mail, and the watches that it is about."""

    message: EmailMessage
    workspace_id: uuid.UUID
    topics: Sequence[WatchedTopic]


def is_set_up() -> bool:
    """Whether mails reach people and can link to pages."""
    return mail.is_set_up() and bool(settings.PUBLIC_ADDRESS)


def send_all(now: datetime | None = None) -> int:
    """Send every member what is due; return the number of mails."""
    if not is_set_up():
        return 0
    now = now or timezone.now()
    sent = 0
    for workspace in Workspace.at_work().filter(source=None):
        for membership in _due(workspace, now):
            sent += _send(workspace, membership, now)
    return sent


def _due(workspace: Workspace, now: datetime) -> list[Membership]:
    with access.in_workspace(workspace.pk):
        rows = TopicWatch.objects.in_workspace(workspace)
        recent = rows.filter(mailed_at__gt=now - A_DAY).values("membership")
        wanted = rows.filter(mails=True).exclude(membership__in=recent).values("membership")
        members = Membership.objects.in_workspace(workspace).filter(pk__in=wanted)
        return list(members.filter(user__is_active=True).select_related("user").order_by("pk"))


def _send(workspace: Workspace, membership: Membership, now: datetime) -> bool:
    # Errors of SMTP and of the network are both OSErrors.
    try:
        digest = digest_for(workspace, membership.user)
        if digest is None:
            return False
        digest.message.send()
    except (KBError, OSError) as error:
        logger.warning(
            "mail about topics not sent workspace=%s membership=%s error=%s",
            workspace.pk,
            membership.pk,
            type(error).__name__,
        )
        return False
    with access.in_workspace(digest.workspace_id):
        for one in digest.topics:
            rows = TopicWatch.objects.in_workspace(digest.workspace_id).filter(pk=one.watch.pk)
            rows.update(mailed=one.state.digest, mailed_at=now)
    logger.info("mail about topics sent workspace=%s membership=%s", workspace.pk, membership.pk)
    return True


def digest_for(workspace: Workspace, user: User) -> Digest | None:
    """Build the mail to a member as they may read now; None if there is nothing new to say.

    Raises NotFoundError if they may not, and UnavailableError while their edition is prepared.
    """
    verified = EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True)
    if not verified.exists():
        return None
    with transaction.atomic():
        place = access.workspace_for_reading(user=user, workspace_id=workspace.pk)
        found = [one for one in watches.watched(place) if _is_news(one)]
        if not found:
            return None
        topics = [_topic(place, one) for one in found]
        token = _token(workspace, found[0].watch.membership_id)
    context = {
        "workspace": place,
        "topics": topics,
        "total": sum(one.changes.count for one in found),
        "stop": f"{settings.PUBLIC_ADDRESS}{reverse('ingestion:topic_mails_stop', args=[token])}",
    }
    subject = render_to_string("ingestion/mail/topics_subject.txt", context)
    message = EmailMessage(
        " ".join(subject.split()),
        render_to_string("ingestion/mail/topics.txt", context),
        to=[user.email],
        headers={
            "List-Unsubscribe": f"<{context['stop']}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )
    return Digest(message, workspace.pk, found)


def _is_news(one: WatchedTopic) -> bool:
    watch = one.watch
    return watch.mails and one.changes.count > 0 and one.state.digest != watch.mailed


def _topic(place: Workspace, one: WatchedTopic) -> DigestTopic:
    # What is new since the last visit, even if that was a minute ago.
    changed = watches.change_list(place, one, one.watch.visited_at + timedelta(days=1))
    link = reverse("ingestion:community_detail", args=[place.slug, one.topic])
    changes = changed.changes
    lines = [
        _line(
            len(changes.versions),
            "new document",
            [new.version.document.title for new in changed.documents],
        ),
        _line(len(changes.facts), "new fact"),
        _line(
            len(changes.joined), "entity joined", [row.name for row in changed.joined],
            several="entities joined",
        ),
        _line(len(changes.left), "entity left", several="entities left"),
    ]  # fmt: skip
    if changes.is_retitled or changes.is_rewritten:
        lines.append("The report was rewritten.")
    return DigestTopic(
        one.title, f"{settings.PUBLIC_ADDRESS}{link}", [line for line in lines if line]
    )


def _line(number: int, what: str, names: Sequence[str] = (), *, several: str = "") -> str:
    """
    >>> _line(2, "new document", ["Log", "Lease"]), _line(1, "entity left"), _line(0, "new fact")
    ('2 new documents: Log, Lease', '1 entity left', '')
    >>> _line(7, "entity joined", ["A", "B", "C", "D", "E", "F"], several="entities joined")
    '7 entities joined: A, B, C, D, E and 2 more'
    """
    if not number:
        return ""
    line = f"{number} {what if number == 1 else several or f'{what}s'}"
    if not names:
        return line
    shown = list(names[:NAMES])
    rest = f" and {number - len(shown)} more" if number > len(shown) else ""
    return f"{line}: {', '.join(shown)}{rest}"


# --- stopping -------------------------------------------------------------------------------------
def _token(workspace: Workspace, membership_id: uuid.UUID) -> str:
    return signing.dumps([str(workspace.pk), str(membership_id)], salt=SALT)


def stop_at(token: str) -> int:
    """Stop the mails that a link in one of them names. Raises NotFoundError."""
    workspace_id, membership_id = check_token(token)
    with access.in_workspace(workspace_id):
        return services.mails_stop(workspace_id=workspace_id, membership_id=membership_id)


def check_token(token: str) -> tuple[uuid.UUID, uuid.UUID]:
    """Return the workspace and the membership of a mail's link. Raises NotFoundError."""
    try:
        workspace_id, membership_id = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        raise NotFoundError(
            "This link is not complete.",
            next_step="Copy it from the e-mail as a whole, or stop e-mails on a topic's page.",
        ) from None
    return uuid.UUID(workspace_id), uuid.UUID(membership_id)
