"""Collections of documents, and who may see those that are restricted."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower

from workspaces.models import Group, Membership, TenantForeignKey, TenantModel


class Collection(TenantModel):
    """A named group of documents, one level deep. Names are unique ignoring case.

    The documents of a restricted collection are seen by those with a ``CollectionGrant``, and by
    admins and owners.
    """

    name = models.CharField(max_length=120)
    is_restricted = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            # Whoever does not see a restricted collection can use its name.
            models.UniqueConstraint(
                "workspace", Lower("name"), "is_restricted", name="collection_name_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class CollectionGrant(TenantModel):
    """Who may see a restricted collection, a group or a member, and whether they may change it."""

    collection = TenantForeignKey(Collection, related_name="grants")
    group = TenantForeignKey(Group, null=True)
    membership = TenantForeignKey(Membership, null=True)
    may_edit = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "collection", "group"], name="grant_to_group_once"
            ),
            models.UniqueConstraint(
                fields=["workspace", "collection", "membership"], name="grant_to_member_once"
            ),
            models.CheckConstraint(
                condition=models.Q(group__isnull=True) ^ models.Q(membership__isnull=True),
                name="grant_to_one",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.collection_id} to {self.group_id or self.membership_id}"
