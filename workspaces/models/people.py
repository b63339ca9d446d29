"""People, workspaces, what a person may do in a workspace, and the base of its rows."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Lower

if TYPE_CHECKING:
    from workspaces.models.tokens import ApiToken

_RowT = TypeVar("_RowT", bound=models.Model)
_SetT = TypeVar("_SetT")
_GetT = TypeVar("_GetT")


class UserManager(BaseUserManager["User"]):
    """Creates users identified by their e-mail address."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractUser):
    """A person, identified by e-mail address."""

    username = None  # type: ignore[assignment]  # Django's documented way to drop the field
    first_name = None  # type: ignore[assignment]  # one name field serves every naming custom
    last_name = None  # type: ignore[assignment]  # the same
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=150, blank=True)
    language = models.CharField(max_length=8, default="en", choices=settings.LANGUAGES)
    # An IANA name; empty is the server's own.
    time_zone = models.CharField(max_length=64, blank=True, default="")

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]  # no username here

    # The token that a request to the API was signed in with; not a column.
    token: ApiToken | None = None

    def __str__(self) -> str:
        """The name to show to others: never the whole address."""
        return self.name or self.email.partition("@")[0]

    def get_full_name(self) -> str:
        return str(self)

    def get_short_name(self) -> str:
        return str(self).split(" ")[0]


class Capability(models.TextChoices):
    """A right in a workspace. Stored on the membership; a role is only a bundle of these."""

    READ = "read", "read documents and ask"
    EDIT = "edit", "add and change documents"
    CURATE = "curate", "merge, split and correct entities"
    ADMINISTER = "administer", "manage members and settings"
    OWN = "own", "delete the workspace and name owners"


class Role(models.TextChoices):
    VIEWER = "viewer", "Viewer"
    EDITOR = "editor", "Editor"
    CURATOR = "curator", "Curator"
    ADMIN = "admin", "Admin"
    OWNER = "owner", "Owner"

    @property
    def capabilities(self) -> list[str]:
        """The role's bundle: each role adds one capability to the role before it."""
        return [capability.value for capability in list(Capability)[: self.rank + 1]]

    @property
    def with_article(self) -> str:
        """The role as a sentence names it.

        >>> Role.OWNER.with_article, Role.VIEWER.with_article
        ('an owner', 'a viewer')
        """
        return f"{'an' if self.label[0] in 'AEIOU' else 'a'} {self.label.lower()}"

    @property
    def rank(self) -> int:
        """The role's place from the lowest: no one grants a role, or changes a member, above
        their own.
        """
        return list(Role).index(self)


@dataclass(frozen=True, slots=True)
class Right:
    """Something a workspace allows its members, or restricts, by a switch in its settings.

    ``field`` is the switch of the ``Workspace``, ``label`` completes "You may not …", and the
    capabilities are those needed with the switch on and with it off.
    """

    field: str
    label: str
    usual: Capability
    restricted: Capability


INVITE: Final = Right("editors_invite", "invite people", Capability.EDIT, Capability.ADMINISTER)
DELETE_FOR_GOOD: Final = Right(
    "editors_delete", "delete documents for good", Capability.EDIT, Capability.ADMINISTER
)
EXPORT: Final = Right(
    "viewers_export",
    "download evaluations, question sets and the graph",
    Capability.READ,
    Capability.EDIT,
)


class Workspace(models.Model):
    """The tenant. Everything a team has belongs to exactly one.

    An edition is a workspace too: a copy of its ``source`` without the documents of ``hidden``
    collections, for those who may see all others (``workspaces.editions``). It has no members: the
    gate takes people there, while it ``is_current``. One that ``is_store`` is read by nobody: it
    keeps what people made in the edition and may not see now.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=60, unique=True)
    is_demo = models.BooleanField(default=False)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    source = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="editions"
    )
    hidden = ArrayField(models.UUIDField(), default=list, db_default=[], blank=True)
    is_current = models.BooleanField(default=True, db_default=True)
    is_store = models.BooleanField(default=False, db_default=False)
    # Set by the database when a collection is restricted, until a sync finds nothing to do.
    needs_sync = models.BooleanField(default=False, db_default=False)
    # Addresses it had before, the latest last: links to them keep working.
    former_slugs = ArrayField(models.SlugField(max_length=60), default=list, blank=True)
    # The language of documents that do not show theirs.
    document_language = models.CharField(max_length=8, default="en")
    # The switches of a Right.
    editors_invite = models.BooleanField(default=False)
    editors_delete = models.BooleanField(default=True)
    viewers_export = models.BooleanField(default=True)
    # Set when an owner deletes it: until then it can be restored.
    purge_at = models.DateTimeField(null=True, blank=True)

    # The membership of the user who passed the gate (workspaces.access); not a column.
    membership: Membership | None = None

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "hidden", "is_store"],
                condition=models.Q(source__isnull=False),
                name="edition_once",
            ),
        ]
        indexes = [
            GinIndex(fields=["former_slugs"], name="workspace_former_slugs"),
            models.Index(
                fields=["id"], condition=models.Q(needs_sync=True), name="workspace_to_sync"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def at_work(cls) -> models.QuerySet[Workspace]:
        """Return those in which work goes on: not the deleted ones, nor their editions."""
        return cls.objects.filter(purge_at=None, source__purge_at=None)

    @classmethod
    def id_at(cls, slug: str) -> uuid.UUID | None:
        """Return the id of the workspace that has this address, or else had it before."""
        ids = cls.objects.order_by("created_at").values_list("pk", flat=True)
        return ids.filter(slug=slug).first() or ids.filter(former_slugs__contains=[slug]).first()

    @property
    def is_deleted(self) -> bool:
        return self.purge_at is not None

    def needed_for(self, right: Right) -> Capability:
        """Return the capability that the right takes, as its switch is set now."""
        return right.usual if getattr(self, right.field) else right.restricted

    def allows(self, right: Right) -> bool:
        """Whether the user who passed the gate has the right; True for commands and jobs."""
        return self.membership is None or self.membership.may(self.needed_for(right))

    @property
    def may_delete_for_good(self) -> bool:
        return self.may(DELETE_FOR_GOOD.usual) and self.allows(DELETE_FOR_GOOD)

    @property
    def may_export(self) -> bool:
        return self.may(EXPORT.usual) and self.allows(EXPORT)

    def may(self, capability: Capability) -> bool:
        """Whether the user who passed the gate may do this; False before the gate."""
        return self.membership is not None and self.membership.may(capability)

    @property
    def may_curate(self) -> bool:
        """Whether the user who passed the gate may correct what was found in the documents.

        In an edition they see only some of these: see ``workspaces.access``.
        """
        return self.source_id is None and self.may(Capability.CURATE)


class TenantForeignKey(models.ForeignKey[_SetT, _GetT]):
    """A reference inside a workspace.

    Migrations give the table a constraint over ``(workspace_id, …_id)`` where it needs one (see
    ``kb_project.database.tenancy.Reference``), so Django makes neither constraint nor index and
    leaves deletion to the database.
    """

    def __init__(
        self,
        to: type[models.Model] | str,
        *,
        null: bool = False,
        related_name: str | None = "+",
        **options: Any,
    ) -> None:
        defaults: dict[str, Any] = {
            "on_delete": models.DO_NOTHING,
            "db_constraint": False,
            "db_index": False,
        }
        super().__init__(to, null=null, related_name=related_name, **{**defaults, **options})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """Deconstruct as a plain ForeignKey, so that migrations need not know this class."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.ForeignKey", args, options


class TenantQuerySet(models.QuerySet[_RowT]):
    """A queryset whose rows carry ``workspace_id``."""

    def in_workspace(self, workspace: Workspace | uuid.UUID) -> Self:
        workspace_id = workspace if isinstance(workspace, uuid.UUID) else workspace.pk
        return self.filter(workspace_id=workspace_id)


class TenantModel(models.Model):
    """A row that belongs to a workspace.

    The database's primary key is ``(workspace_id, id)`` (see ``kb_project.database.tenancy``);
    Django addresses the row by ``id`` and row-level security adds the workspace.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.DO_NOTHING, related_name="+", db_index=False
    )

    objects = TenantQuerySet.as_manager()

    class Meta:
        abstract = True


class TenantPart(models.Model):
    """A row that cannot do without another one of its workspace.

    The constraint over ``(workspace_id, …_id)`` vouches for the workspace: another one on
    ``workspace_id`` alone would be checked for each new row, and lock the workspace's.
    """

    workspace = TenantForeignKey(Workspace)

    objects = TenantQuerySet.as_manager()

    class Meta:
        abstract = True


class Membership(TenantModel):
    """A person's membership in a workspace, with the capabilities of the role."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.VIEWER)
    capabilities = ArrayField(models.CharField(max_length=20, choices=Capability.choices))
    created_at = models.DateTimeField(auto_now_add=True)

    # The token that it was narrowed to, and the capabilities that this took; not columns.
    token: ApiToken | None = None
    lost_to_token: Sequence[str] = ()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="membership_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} as {self.role}"

    def may(self, capability: Capability) -> bool:
        return capability.value in self.capabilities

    @property
    def role_with_article(self) -> str:
        return Role(self.role).with_article

    @property
    def rank(self) -> int:
        """The rank of the highest role whose capabilities it has."""
        held = [list(Capability).index(Capability(name)) for name in self.capabilities]
        return max(held, default=-1)

    def narrow_to(self, token: ApiToken) -> None:
        """Keep only the capabilities that the token has too, of this row in memory."""
        self.token = token
        self.lost_to_token = [one for one in self.capabilities if one not in token.capabilities]
        self.capabilities = [one for one in self.capabilities if one in token.capabilities]


class Group(TenantModel):
    """Members of a workspace who are granted things together."""

    name = models.CharField(max_length=120)

    class Meta:
        constraints = [
            models.UniqueConstraint("workspace", Lower("name"), name="group_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class GroupMember(TenantModel):
    """A member in a group; it ends with the membership."""

    group = TenantForeignKey(Group, related_name="members")
    membership = TenantForeignKey(Membership, related_name="groups")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "group", "membership"], name="group_member_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.membership_id} in {self.group_id}"


class StoredReply(TenantModel):
    """The response to a request with an ``Idempotency-Key``; kept for a day.

    ``digest`` covers the whole request: reusing the key for another one is an error. The row is
    written in the request's own transaction; ``status`` is null until the request finishes.
    """

    user = TenantForeignKey(settings.AUTH_USER_MODEL)
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    headers = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user", "key"], name="stored_reply_once"),
        ]
        indexes = [models.Index(fields=["workspace", "created_at"], name="stored_reply_age")]

    def __str__(self) -> str:
        return self.key
