"""Creating and revoking tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from kb_project.errors import ConflictError, ForbiddenError, InputError, NotFoundError
from tests import rows
from workspaces import access
from workspaces.models import ApiToken, AuditEvent, Capability, User, Workspace
from workspaces.tokens import services

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def create(cast: rows.Cast, member: User | None = None, **wanted: Any) -> ApiToken:
    given: dict[str, Any] = {"name": "Script", "capabilities": [], "by": member or cast.alice}
    token, _ = services.token_create(
        workspace=cast.workspace, member=member or cast.alice, **{**given, **wanted}
    )
    return token


def gated(cast: rows.Cast, user: User) -> Workspace:
    return access.workspace_for_reading(user=user, workspace_id=cast.workspace.pk)


def events(cast: rows.Cast, action: str) -> list[AuditEvent]:
    with access.in_workspace(cast.workspace.pk):
        return list(AuditEvent.objects.in_workspace(cast.workspace).filter(action=action))


def test_a_token_may_always_read_and_its_capabilities_are_in_order(cast: rows.Cast):
    assert create(cast).capabilities == ["read"]
    assert create(cast).is_read_only
    chosen = create(cast, capabilities=["administer", "edit"])
    assert chosen.capabilities == ["read", "edit", "administer"]


def test_a_token_expires_in_three_months_unless_said_otherwise(cast: rows.Cast):
    expires = create(cast).expires_at

    assert expires is not None
    assert abs(expires - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)
    assert create(cast, days=None).expires_at is None


@pytest.mark.parametrize("wanted", [["edit"], ["own"], ["fly"]])
def test_nobody_gives_a_token_what_they_may_not_do(cast: rows.Cast, wanted: list[str]):
    with pytest.raises(InputError, match="Bob does not have the capability") as refused:
        create(cast, cast.bob, capabilities=wanted)

    assert refused.value.next_step == "Choose among: read."


def test_an_outsider_has_no_token(cast: rows.Cast):
    with pytest.raises(NotFoundError):
        create(cast, cast.charlie)


@pytest.mark.parametrize("name", ["", "   ", "\n", "x" * 81])
def test_a_token_needs_a_name_of_a_usual_length(cast: rows.Cast, name: str):
    with pytest.raises(InputError):
        create(cast, name=name)


def test_a_name_is_one_line(cast: rows.Cast):
    assert create(cast, name=" night\n\x00run ").name == "night run"


def test_a_token_creates_no_other(cast: rows.Cast):
    cast.alice.token = create(cast, capabilities=["own", "administer"])

    with pytest.raises(ForbiddenError, match="cannot create tokens"):
        create(cast)


def test_nobody_has_tokens_without_end(cast: rows.Cast, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "MOST_TOKENS", 2)
    first = create(cast)
    create(cast)
    with pytest.raises(ConflictError, match="as many as allowed"):
        create(cast)

    create(cast, cast.bob)
    services.token_revoke(workspace=gated(cast, cast.alice), user=cast.alice, token_id=first.pk)
    create(cast)


def test_creation_and_revocation_are_audited_without_the_secret(cast: rows.Cast):
    token = create(cast, capabilities=["edit"])
    services.token_revoke(workspace=gated(cast, cast.alice), user=cast.alice, token_id=token.pk)

    [created], [revoked] = events(cast, "token_created"), events(cast, "token_revoked")
    assert created.object_name == revoked.object_name == str(token)
    assert created.after["capabilities"] == ["read", "edit"]
    assert token.digest not in str(created.after)
    assert revoked.actor == "Alice"


def test_a_token_is_revoked_once(cast: rows.Cast):
    token = create(cast)
    workspace = gated(cast, cast.alice)
    first = services.token_revoke(workspace=workspace, user=cast.alice, token_id=token.pk)

    again = services.token_revoke(workspace=workspace, user=cast.alice, token_id=token.pk)

    assert first.revoked_at == again.revoked_at
    assert len(events(cast, "token_revoked")) == 1


def test_an_admin_revokes_anyones_token_and_a_member_only_their_own(cast: rows.Cast):
    mine, theirs = create(cast, cast.bob), create(cast)

    with pytest.raises(NotFoundError):
        services.token_revoke(workspace=gated(cast, cast.bob), user=cast.bob, token_id=theirs.pk)
    revoked = services.token_revoke(
        workspace=gated(cast, cast.alice), user=cast.alice, token_id=mine.pk
    )

    assert not revoked.is_live


def test_a_token_revokes_itself_and_no_other_unless_it_may_administer(cast: rows.Cast):
    weak, strong = create(cast), create(cast, capabilities=[Capability.ADMINISTER.value])
    other = create(cast)
    cast.alice.token = weak

    with pytest.raises(ForbiddenError, match="may revoke only itself"):
        services.token_revoke(workspace=gated(cast, cast.alice), user=cast.alice, token_id=other.pk)
    services.token_revoke(workspace=gated(cast, cast.alice), user=cast.alice, token_id=weak.pk)
    cast.alice.token = strong
    services.token_revoke(workspace=gated(cast, cast.alice), user=cast.alice, token_id=other.pk)
