"""The forms for models, prices and budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, TypeVar

from django import forms

from kb_project.errors import InputError
from kb_project.llm.ports import Role
from workspaces.language_models import choice as rules
from workspaces.language_models.choice import ModelChoice
from workspaces.language_models.queries import ModelState
from workspaces.language_models.services import PriceGiven
from workspaces.models import ModelPrice
from workspaces.usage.queries import Spending

CheckedT = TypeVar("CheckedT")
SPARE_PRICES: Final = 2
MOST_PRICE_ROWS: Final = 50
ROLE_TITLES: Final = {
    Role.EXTRACT: "Find entities and facts",
    Role.SUMMARISE: "Write descriptions and reports",
    Role.SITUATE: "Situate passages",
    Role.KEYWORD: "Read questions",
    Role.ANSWER: "Answer",
    Role.JUDGE: "Judge doubtful cases",
}


class ModelForm(forms.Form):
    """The choice of models. The key is write-only: the page shows its last characters at most."""

    endpoint = forms.CharField(
        required=False,
        max_length=rules.LONGEST_ENDPOINT,
        label="Endpoint",
        widget=forms.TextInput(
            {"placeholder": "https://api.example.com/v1", "autocomplete": "off"}
        ),
        help_text="The address of any OpenAI-compatible server, hosted or your own.",
    )
    key = forms.CharField(
        required=False,
        max_length=rules.LONGEST_KEY,
        strip=True,
        label="Key",
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again.",
    )
    remove_key = forms.BooleanField(required=False, label="Remove the stored key")
    model = forms.CharField(
        required=False,
        max_length=rules.LONGEST_MODEL,
        label="Model",
        widget=forms.TextInput({"autocomplete": "off"}),
        help_text="Its name at the endpoint. Used wherever no other model is set below.",
    )
    context_window = forms.IntegerField(
        min_value=rules.CONTEXT_WINDOW[0],
        max_value=rules.CONTEXT_WINDOW[1],
        label="Context window",
        help_text="Tokens the model reads at once, the smallest of your models.",
    )
    concurrency = forms.IntegerField(
        min_value=rules.CONCURRENCY[0],
        max_value=rules.CONCURRENCY[1],
        label="Calls at once",
        help_text="Of all workers together. For a server on one machine, 1 to 4.",
    )
    gleanings = forms.IntegerField(
        min_value=rules.GLEANINGS[0],
        max_value=rules.GLEANINGS[1],
        label="Second looks",
        help_text="How often a passage is read again for what was missed, one call each.",
    )
    wants_claims = forms.BooleanField(
        required=False, label="Also extract claims: who says what of whom, and when"
    )
    wants_judge = forms.BooleanField(
        required=False,
        label="Have a model check every sentence of an answer, one more call each; without it,"
        " words, numbers and names decide",
    )
    allows_general = forms.BooleanField(
        required=False,
        label="Let answers add general knowledge, in sentences marked to be verified",
    )
    entity_types = forms.CharField(
        required=False,
        max_length=rules.MOST_TYPES * (rules.LONGEST_TYPE + 2),
        label="Entity types",
        widget=forms.TextInput({"autocomplete": "off", "placeholder": "person, place, vessel"}),
        help_text="Between commas. Left empty, the model names what it finds.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for role in Role:
            title = ROLE_TITLES[role]
            self.fields[f"{role}_model"] = forms.CharField(
                required=False, max_length=rules.LONGEST_MODEL, label=f"Model: {title}"
            )
            self.fields[f"{role}_max_output"] = forms.IntegerField(
                required=False,
                min_value=1,
                max_value=rules.MOST_OUTPUT,
                label=f"Longest answer: {title}",
            )
            self.fields[f"{role}_timeout"] = forms.IntegerField(
                required=False,
                min_value=1,
                max_value=rules.LONGEST_TIMEOUT,
                label=f"Patience: {title}",
            )

    def clean_endpoint(self) -> str:
        return ruled(rules.checked_endpoint, self.cleaned_data["endpoint"])

    def clean_key(self) -> str:
        return ruled(rules.checked_key, self.cleaned_data["key"])

    def clean_entity_types(self) -> tuple[str, ...]:
        names = self.cleaned_data["entity_types"].split(",")
        return ruled(rules.checked_entity_types, names)

    def role_rows(self) -> Iterator[tuple[str, list[forms.BoundField]]]:
        """Yield each role's title with its three fields."""
        for role in Role:
            yield (
                ROLE_TITLES[role],
                [self[f"{role}_{name}"] for name in ("model", "max_output", "timeout")],
            )

    @property
    def has_role_errors(self) -> bool:
        return any(field.errors for _, cells in self.role_rows() for field in cells)

    def choice(self, *, is_local: bool = False) -> ModelChoice:
        """Return the choice of a valid form."""
        data = self.cleaned_data
        key = "" if data["remove_key"] else None
        return ModelChoice(
            endpoint=data["endpoint"],
            key=data["key"] or key,
            is_local=is_local and not data["endpoint"],
            model=data["model"],
            role_models={role.value: data[f"{role}_model"] for role in Role},
            limits={role.value: _limits(data, role) for role in Role},
            concurrency=data["concurrency"],
            context_window=data["context_window"],
            gleanings=data["gleanings"],
            wants_claims=data["wants_claims"],
            allows_general=data["allows_general"],
            wants_judge=data["wants_judge"],
            entity_types=data["entity_types"],
        )


def model_form(state: ModelState, data: Mapping[str, Any] | None = None) -> ModelForm:
    chosen = state.choice
    initial: dict[str, Any] = {
        "endpoint": chosen.endpoint,
        "model": chosen.model,
        "context_window": chosen.context_window,
        "concurrency": chosen.concurrency,
        "gleanings": chosen.gleanings,
        "wants_claims": chosen.wants_claims,
        "allows_general": chosen.allows_general,
        "wants_judge": chosen.wants_judge,
        "entity_types": ", ".join(chosen.entity_types),
    }
    for row in state.roles:
        initial[f"{row.role}_model"] = row.own
        initial[f"{row.role}_max_output"] = row.own_max_output
        initial[f"{row.role}_timeout"] = row.own_timeout
    form = ModelForm(data, initial=initial)
    for row in state.roles:
        form.fields[f"{row.role}_max_output"].widget.attrs["placeholder"] = str(row.max_output)
        form.fields[f"{row.role}_timeout"].widget.attrs["placeholder"] = str(row.timeout)
    return form


class BudgetForm(forms.Form):
    cap = forms.DecimalField(
        required=False,
        min_value=0,
        max_value=rules.MOST_MONEY,
        max_digits=14,
        decimal_places=6,
        label="What may be spent in all",
        help_text="In the currency of your prices; what is spent already counts. Empty: no limit.",
    )


def budget_form(spending: Spending) -> BudgetForm:
    return BudgetForm(initial={"cap": "" if spending.cap is None else plain(spending.cap)})


class PriceForm(forms.Form):
    """One row of the price table; a row without a model is ignored."""

    model = forms.CharField(required=False, max_length=rules.LONGEST_MODEL, label="Priced model")
    prompt = forms.DecimalField(
        required=False, min_value=0, max_value=rules.DEAREST, label="Price in"
    )
    cached_prompt = forms.DecimalField(
        required=False,
        min_value=0,
        max_value=rules.DEAREST,
        label="Price in, from the provider's cache",
    )
    completion = forms.DecimalField(
        required=False, min_value=0, max_value=rules.DEAREST, label="Price out"
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        prices = [data.get(name) for name in ("prompt", "completion")]
        if data.get("model") and None in prices and not self.errors:
            raise forms.ValidationError(
                "A model needs an input price and an output price. Use 0 for free."
            )
        if not data.get("model") and any(price is not None for price in prices):
            raise forms.ValidationError("This price has no model.")
        return data

    def given(self) -> PriceGiven | None:
        data = self.cleaned_data
        if not data.get("model"):
            return None
        return PriceGiven(
            model=data["model"],
            prompt=data["prompt"],
            completion=data["completion"],
            cached_prompt=data["cached_prompt"],
        )


PriceForms = forms.formset_factory(
    PriceForm, extra=SPARE_PRICES, max_num=MOST_PRICE_ROWS, absolute_max=MOST_PRICE_ROWS
)


def price_forms(prices: list[ModelPrice], models: list[str], data: Any = None) -> Any:
    """Return a row for each price, then one for each model in use without a price."""
    names = {price.model for price in prices}
    initial = [
        {
            "model": price.model,
            "prompt": plain(price.prompt),
            "cached_prompt": plain(price.cached_prompt),
            "completion": plain(price.completion),
        }
        for price in prices
    ]
    missing = [{"model": model} for model in models if model not in names]
    return PriceForms(data, initial=initial + missing, prefix="prices")


def plain(amount: Decimal) -> str:
    """
    >>> plain(Decimal("10.0000")), plain(Decimal("0.1500"))
    ('10', '0.15')
    """
    return f"{amount.normalize():f}"


def _limits(data: Mapping[str, Any], role: Role) -> dict[str, float]:
    named = {name: data[f"{role}_{name}"] for name in ("max_output", "timeout")}
    return {name: value for name, value in named.items() if value is not None}


def ruled(rule: Callable[[Any], CheckedT], value: object) -> CheckedT:
    """Apply a service's validation in a form."""
    try:
        return rule(value)
    except InputError as error:
        raise forms.ValidationError(error.happened) from error
