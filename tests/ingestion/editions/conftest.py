"""A workspace with a restricted collection, and people who may or may not see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import transaction
from django.utils import timezone

from ingestion.editions import services as editions
from ingestion.models import Collection, CollectionGrant, Document
from tests import rows
from tests.ingestion import state
from tests.ingestion.once import Kept, once_a_module
from workspaces import access
from workspaces.models import Capability, Group, GroupMember, Membership, User, Workspace

TEXTS: Mapping[str, str] = {
    **state.TEXTS,
    "Verdict": "Ada Lind owes Dora Quist money. Dora Quist sues Ada Lind in Wick.",
}


@dataclass
class Team:
    """``alice`` owns it, ``bob`` views, and the collection *Court* is closed to him."""

    workspace: Workspace
    alice: User
    bob: User
    court: Collection
    documents: dict[str, Document]

    def membership(self, user: User) -> Membership:
        with access.in_workspace(self.workspace.pk):
            return Membership.objects.in_workspace(self.workspace).get(user=user)

    def put(self, collection: Collection | None, *titles: str) -> None:
        with access.in_workspace(self.workspace.pk):
            rows = Document.objects.in_workspace(self.workspace).filter(title__in=titles)
            rows.update(collection=collection, updated_at=timezone.now())

    def restrict(self, collection: Collection, *, is_restricted: bool = True) -> None:
        with access.in_workspace(self.workspace.pk):
            collection.is_restricted = is_restricted
            collection.save()

    def grant(self, user: User, collection: Collection, *, may_edit: bool = False) -> None:
        with access.in_workspace(self.workspace.pk):
            CollectionGrant.objects.create(
                workspace=self.workspace,
                collection=collection,
                membership=self.membership(user),
                may_edit=may_edit,
            )

    def grant_group(self, user: User, collection: Collection) -> Group:
        with access.in_workspace(self.workspace.pk):
            group = Group.objects.create(workspace=self.workspace, name="Lawyers")
            GroupMember.objects.create(
                workspace=self.workspace, group=group, membership=self.membership(user)
            )
            CollectionGrant.objects.create(
                workspace=self.workspace, collection=collection, group=group
            )
        return group

    def sync(self) -> None:
        editions.sync(self.workspace.pk)
        for edition in Workspace.objects.filter(source=self.workspace):
            state.settled(edition)

    def read_by(self, user: User) -> Workspace:
        return access_of(self.workspace, user)


def access_of(
    workspace: Workspace, user: User, capability: Capability = Capability.READ
) -> Workspace:
    """The workspace that the gate opens to a person."""
    with transaction.atomic():
        return access.workspace_with(capability, user=user, workspace_id=workspace.slug)


@pytest.fixture
def team(team_once: Kept[Team], media: Path, fake_embedder: None) -> Team:
    return team_once.for_a_test(media)


def make_team() -> Team:
    cast = rows.make_cast()
    documents = state.read(cast.workspace, TEXTS)
    court = rows.make_collection(cast.workspace, "Court")
    team = Team(cast.workspace, cast.alice, cast.bob, court, documents)
    team.put(court, "Verdict")
    return team


team_once = once_a_module(make_team, Kept)
