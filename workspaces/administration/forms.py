"""The form of a workspace's settings."""

from __future__ import annotations

from django import forms

from kb_project.text.languages import LANGUAGES
from workspaces.administration.services import FIELDS
from workspaces.models import Workspace
from workspaces.people.services import NAME_LENGTH, SLUG_LENGTH


class SettingsForm(forms.Form):
    name = forms.CharField(max_length=NAME_LENGTH, label="Name")
    slug = forms.SlugField(
        max_length=SLUG_LENGTH,
        label="Address",
        help_text="Letters, numbers and hyphens. Links to the last five addresses keep working; a"
        " number is added if the address is not free.",
    )
    document_language = forms.ChoiceField(
        choices=tuple(LANGUAGES.items()),
        label="Default language of documents",
        help_text="For documents whose language can't be detected, such as lists of names.",
    )
    editors_invite = forms.BooleanField(
        required=False, label="Editors and curators may invite people, up to their own role"
    )
    editors_delete = forms.BooleanField(
        required=False, label="Editors and curators may delete documents for good"
    )
    viewers_export = forms.BooleanField(
        required=False, label="Viewers may download evaluations, question sets and the graph"
    )


def settings_form(workspace: Workspace) -> SettingsForm:
    return SettingsForm(initial={name: getattr(workspace, name) for name in FIELDS})
