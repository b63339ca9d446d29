"""The forms for models, reranker, prices and budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, TypeVar

from django import forms

from kb_project.errors import InputError
from kb_project.llm.ports import Role
from workspaces.language_models import choice as rules
from workspaces.language_models.choice import ModelChoice, RerankChoice, checked_rerank_endpoint
from workspaces.language_models.providers import ListPrice, Provider, provider_at
from workspaces.language_models.queries import ModelState, RerankerState
from workspaces.language_models.services import TUNABLE, PriceGiven
from workspaces.models import ModelPrice, RerankerKind
from workspaces.usage.queries import Spending

CheckedT = TypeVar("CheckedT")
SPARE_PRICES: Final = 2
MOST_PRICE_ROWS: Final = 50
PLAIN_FIELDS: Final = ("endpoint", "model", *rules.OPTIONS)
"""Fields of the form that a choice has under the same name."""
ROLE_TITLES: Final = {
    Role.EXTRACT: "Find entities and facts",
    Role.SUMMARISE: "Write descriptions and reports",
    Role.SITUATE: "Situate passages",
    Role.KEYWORD: "Read questions",
    Role.ANSWER: "Answer",
    Role.JUDGE: "Judge doubtful cases",
}


def _text_field(label: str, longest: int, help_text: str, **attributes: str) -> forms.CharField:
    return forms.CharField(
        required=False,
        max_length=longest,
        label=label,
        widget=forms.TextInput({"autocomplete": "off", **attributes}),
        help_text=help_text,
    )


def _key_field(label: str) -> forms.CharField:
    return forms.CharField(
        required=False,
        max_length=rules.LONGEST_KEY,
        label=label,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again.",
    )


class ModelForm(forms.Form):
    """The choice of models. The key is write-only: the page shows its last characters at most."""

    endpoint = _text_field(
        "Endpoint",
        rules.LONGEST_ENDPOINT,
        "The address of any OpenAI-compatible server, hosted or your own.",
        placeholder="https://api.example.com/v1",
        autocomplete="url",
    )
    key = _key_field("Key")
    remove_key = forms.BooleanField(required=False, label="Remove the stored key")
    model = _text_field(
        "Model",
        rules.LONGEST_MODEL,
        "Its name at the endpoint. Used wherever no other model is set below.",
        list="chat-models",
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
    local_extraction = forms.BooleanField(
        required=False,
        label="Read passages without the model: it only writes reports, summaries and answers",
    )
    allows_general = forms.BooleanField(
        required=False,
        label="Let answers add general knowledge, in sentences marked to be verified",
    )
    instructions = _text_field(
        "Instructions for answers",
        rules.LONGEST_INSTRUCTIONS,
        "Added to every question here, such as: write for engineers. Citing stays as it is.",
    )
    entity_types = _text_field(
        "Entity types",
        rules.MOST_TYPES * (rules.LONGEST_TYPE + 2),
        "Between commas. Left empty, the model names what it finds.",
        placeholder="person, place, vessel",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for role in Role:
            title = ROLE_TITLES[role]
            self.fields[f"{role}_model"] = forms.CharField(
                required=False,
                max_length=rules.LONGEST_MODEL,
                label=f"Model: {title}",
                widget=forms.TextInput({"list": "chat-models"}),
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
            self.fields[f"{role}_parameters"] = forms.CharField(
                required=False,
                max_length=rules.LONGEST_PARAMETERS,
                label=f"Parameters: {title}",
            )

    def clean_endpoint(self) -> str:
        return ruled(rules.checked_endpoint, self.cleaned_data["endpoint"])

    def clean_key(self) -> str:
        return ruled(rules.checked_key, self.cleaned_data["key"])

    def clean(self) -> dict[str, Any]:
        for role in Role:
            name = f"{role}_parameters"
            try:
                self.cleaned_data[name] = rules.parameters_in(self.cleaned_data.get(name, ""))
            except InputError as error:
                self.add_error(name, error.happened)
        return self.cleaned_data

    def clean_entity_types(self) -> tuple[str, ...]:
        names = self.cleaned_data["entity_types"].split(",")
        return ruled(rules.checked_entity_types, names)

    def role_rows(self) -> Iterator[tuple[str, list[forms.BoundField]]]:
        """Yield each role's title with its fields."""
        names = ("model", "max_output", "timeout", "parameters")
        for role in Role:
            yield ROLE_TITLES[role], [self[f"{role}_{name}"] for name in names]

    @property
    def has_role_errors(self) -> bool:
        return any(field.errors for _, cells in self.role_rows() for field in cells)

    def choice(self, *, is_local: bool = False) -> ModelChoice:
        """Return the choice of a valid form."""
        data = self.cleaned_data
        return ModelChoice(
            **{name: data[name] for name in (*PLAIN_FIELDS, "entity_types")},
            key=data["key"] or ("" if data["remove_key"] else None),
            is_local=is_local and not data["endpoint"],
            role_models={role.value: data[f"{role}_model"] for role in Role},
            limits={role.value: _limits(data, role) for role in Role},
            parameters={role.value: data[f"{role}_parameters"] for role in Role},
        )


def model_form(
    state: ModelState,
    data: Mapping[str, Any] | None = None,
    *,
    provider: Provider | None = None,
) -> ModelForm:
    """Return the form, with the address of a provider that was just chosen."""
    chosen = state.choice
    initial: dict[str, Any] = {name: getattr(chosen, name) for name in PLAIN_FIELDS}
    if provider and provider != provider_at(chosen.endpoint):
        initial |= {"endpoint": provider.endpoint, "model": ""}
    initial["entity_types"] = ", ".join(chosen.entity_types)
    for row in state.roles:
        initial[f"{row.role}_model"] = row.own
        initial[f"{row.role}_max_output"] = row.own_max_output
        initial[f"{row.role}_timeout"] = row.own_timeout
        initial[f"{row.role}_parameters"] = rules.parameters_text(
            chosen.parameters.get(row.role, {})
        )
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


def price_forms(
    prices: list[ModelPrice],
    models: list[str],
    data: Any = None,
    *,
    listed: Mapping[str, ListPrice] | None = None,
) -> Any:
    """Return a row for each price, then one for each model in use without a price, and one for each
    other ``listed`` price. Listed prices are filled in, and count once they are saved.
    """
    listed = listed or {}
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
    missing = [
        {"model": model} | _listed(listed.get(model))
        for model in dict.fromkeys([*models, *listed])
        if model not in names
    ]
    return PriceForms(data, initial=initial + missing, prefix="prices")


def _listed(price: ListPrice | None) -> dict[str, str]:
    if price is None:
        return {}
    amounts = ("prompt", "cached_prompt", "completion")
    return {name: plain(getattr(price, name)) for name in amounts}


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


class RerankForm(forms.Form):
    """The choice of a reranker. The key is write-only."""

    reranker = forms.ChoiceField(choices=RerankerKind.choices, label="Reranking")
    rerank_endpoint = _text_field(
        "Reranking endpoint",
        rules.LONGEST_ENDPOINT,
        "A server that answers /rerank, hosted or your own.",
        placeholder="https://api.example.com/v2",
    )
    rerank_model = _text_field(
        "Reranking model",
        rules.LONGEST_MODEL,
        "Its name at that endpoint.",
        list="reranking-models",
    )
    rerank_key = _key_field("Key of the reranking endpoint")
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


class TuningForm(forms.Form):
    """What was learned from the documents, to be edited."""

    domain = _text_field("About", TUNABLE["domain"], "What the documents are about.")
    language = _text_field(
        "Language", TUNABLE["language"], "In which entities are named and described."
    )
    persona = _text_field(
        "Persona", TUNABLE["persona"], "The expert who writes descriptions and reports."
    )
    report_rating = _text_field(
        "What matters", TUNABLE["report_rating"], "By which reports rate their topics, 0 to 10."
    )
    report_language = _text_field(
        "Language of reports",
        TUNABLE["report_language"],
        "Of reports and summaries. Left empty, that of the documents.",
    )


def tuning_form(state: ModelState, data: Any = None) -> TuningForm:
    return TuningForm(data, initial={name: state.tuning.get(name, "") for name in TUNABLE})


def rerank_form(state: RerankerState, data: Any = None) -> RerankForm:
    initial = {
        "reranker": state.choice.kind.value,
        "rerank_endpoint": state.choice.endpoint,
        "rerank_model": state.choice.model,
    }
    return RerankForm(data, initial=initial)
