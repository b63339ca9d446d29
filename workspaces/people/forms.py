"""The form for a workspace."""

from __future__ import annotations

from django import forms


class WorkspaceForm(forms.Form):
    name = forms.CharField(max_length=120, label="Name")
    slug = forms.SlugField(
        max_length=60,
        required=False,
        label="Address",
        help_text="Letters, numbers and hyphens. Left empty, it is made from the name.",
    )
