"""Forms of workspaces, members, invitations and profiles."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings

from workspaces.models import Role, User
from workspaces.people.profiles import NAME_LENGTH, time_zones
from workspaces.people.services import NAME_LENGTH as WORKSPACE_NAME_LENGTH, SLUG_LENGTH


class WorkspaceForm(forms.Form):
    name = forms.CharField(max_length=WORKSPACE_NAME_LENGTH, label="Name")
    slug = forms.SlugField(
        max_length=SLUG_LENGTH,
        required=False,
        label="Address",
        help_text="Letters, numbers and hyphens. Left empty, it is made from the name.",
    )


class RoleForm(forms.Form):
    """A role up to one's own."""

    role = forms.ChoiceField(label="Role")

    def __init__(self, *args: Any, rank: int, **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["role"]
        field.choices = [(role.value, role.label) for role in Role if role.rank <= rank]

    @property
    def given_role(self) -> Role:
        return Role(self.cleaned_data["role"])


class EmailInvitationForm(RoleForm):
    email = forms.EmailField(label="E-mail address", max_length=254)
    field_order = ["email", "role"]


class LinkInvitationForm(RoleForm):
    is_reusable = forms.BooleanField(
        required=False, label="Several people can use it (as Curator at most)"
    )


class ProfileForm(forms.Form):
    name = forms.CharField(
        max_length=NAME_LENGTH,
        required=False,
        label="Display name",
        help_text="What others see beside your work. Without one they see the part of your e-mail"
        " address before the @.",
    )
    language = forms.ChoiceField(label="Language", choices=settings.LANGUAGES)
    time_zone = forms.ChoiceField(label="Time zone", required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        usual = ("", f"The server's ({settings.TIME_ZONE})")
        zone: Any = self.fields["time_zone"]
        zone.choices = [usual, *((name, name.replace("_", " ")) for name in time_zones())]


def profile_form(user: User) -> ProfileForm:
    return ProfileForm(
        initial={"name": user.name, "language": user.language, "time_zone": user.time_zone}
    )
