"""The form for reranking."""

from __future__ import annotations

from typing import Any

from django import forms

from workspaces.language_models import choice as rules
from workspaces.language_models.forms import ruled
from workspaces.language_models.rerank_choice import RerankChoice, checked_rerank_endpoint
from workspaces.language_models.reranking_queries import RerankerState
from workspaces.models import RerankerKind


class RerankForm(forms.Form):
    """The choice of a reranker. The key is write-only."""

    reranker = forms.ChoiceField(choices=RerankerKind.choices, label="Reranking")
    rerank_endpoint = forms.CharField(
        required=False,
        max_length=rules.LONGEST_ENDPOINT,
        label="Reranking endpoint",
        widget=forms.TextInput(
            {"placeholder": "https://api.example.com/v2", "autocomplete": "off"}
        ),
        help_text="A server that answers /rerank, hosted or your own.",
    )
    rerank_model = forms.CharField(
        required=False,
        max_length=rules.LONGEST_MODEL,
        label="Reranking model",
        widget=forms.TextInput({"autocomplete": "off"}),
        help_text="Its name at that endpoint.",
    )
    rerank_key = forms.CharField(
        required=False,
        max_length=rules.LONGEST_KEY,
        label="Key of the reranking endpoint",
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again.",
    )
    remove_rerank_key = forms.BooleanField(
        required=False, label="Remove the stored key of the reranking endpoint"
    )

    def clean_rerank_endpoint(self) -> str:
        return ruled(checked_rerank_endpoint, self.cleaned_data["rerank_endpoint"])

    def choice(self) -> RerankChoice:
        """Return the choice of a valid form."""
        data = self.cleaned_data
        return RerankChoice(
            kind=RerankerKind(data["reranker"]),
            endpoint=data["rerank_endpoint"],
            key=data["rerank_key"] or ("" if data["remove_rerank_key"] else None),
            model=data["rerank_model"],
        )


def rerank_form(state: RerankerState, data: Any = None) -> RerankForm:
    initial = {
        "reranker": state.choice.kind.value,
        "rerank_endpoint": state.choice.endpoint,
        "rerank_model": state.choice.model,
    }
    return RerankForm(data, initial=initial)
