"""The choice of models and of a reranker, and their validation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import SplitResult, urlsplit

from kb_project import egress
from kb_project.errors import InputError
from kb_project.llm.ports import Role
from workspaces.models import ModelSettings, RerankerKind

LONGEST_ENDPOINT: Final = 500
LONGEST_KEY: Final = 500
LONGEST_MODEL: Final = 120
LONGEST_TYPE: Final = 40
LONGEST_INSTRUCTIONS: Final = 1_000
MOST_TYPES: Final = 40
MOST_OUTPUT: Final = 200_000
LONGEST_TIMEOUT: Final = 3_600
CONCURRENCY: Final = (1, 256)
CONTEXT_WINDOW: Final = (512, 10_000_000)
GLEANINGS: Final = (0, 5)
OPTIONS: Final = (
    *("context_window", "concurrency", "gleanings"),
    *("wants_claims", "allows_general", "wants_judge", "local_extraction", "instructions"),
)
"""What settings, choices and the form have under the same name."""
LONGEST_PARAMETERS: Final = 1_000
OWN_PARAMETERS: Final = frozenset(
    "model messages input prompt stream stream_options response_format max_tokens"
    " max_completion_tokens n seed tools tool_choice functions function_call".split()
)
"""What requests say already."""
MOST_MONEY: Final = Decimal(10_000_000)
DEAREST: Final = Decimal(10_000)
"""Per million tokens: above it, a cost would not fit its column."""

_UNPRINTABLE: Final = re.compile(r"[\x00-\x20\x7f]")
_UNSTORABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")
_PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")
_API_VERSION: Final = re.compile(r"api-version=[A-Za-z0-9.-]{1,40}")
_FULL_ADDRESS: Final = re.compile(r"/(chat/)?completions/?$")


@dataclass(frozen=True, kw_only=True)
class EndpointChoice:
    """An admin's choice of a server. ``key``: None keeps the stored one, '' removes it.

    ``PREFIX`` is that of its columns in ``ModelSettings``.
    """

    PREFIX: ClassVar[str] = ""

    endpoint: str = ""
    key: str | None = field(default=None, repr=False)
    model: str = ""


ChoiceT = TypeVar("ChoiceT", bound=EndpointChoice)


@dataclass(frozen=True, kw_only=True)
class ModelChoice(EndpointChoice):
    """An admin's choice of chat models.

    ``role_models`` is ``{role: model}``; ``limits`` is ``{role: {"max_output", "timeout"}}``;
    ``parameters`` is ``{role: {name: value}}``, sent as they are.
    """

    is_local: bool = False
    role_models: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    concurrency: int = 8
    context_window: int = 16_000
    gleanings: int = 1
    wants_claims: bool = False
    allows_general: bool = False
    wants_judge: bool = True
    local_extraction: bool = False
    instructions: str = ""
    entity_types: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RerankChoice(EndpointChoice):
    """An admin's choice of a reranker.

    Endpoint and model are kept under another kind, for when it is chosen again.
    """

    PREFIX: ClassVar[str] = "rerank_"

    kind: RerankerKind = RerankerKind.OFF


def choice_in(settings: ModelSettings) -> ModelChoice:
    """Return the present choice, never with the key."""
    names = {one.name for one in fields(ModelChoice)} - {"key", "entity_types"}
    stored = {name: getattr(settings, name) for name in names}
    return ModelChoice(**stored, entity_types=tuple(settings.entity_types))


def set_options(settings: ModelSettings, choice: ModelChoice) -> None:
    """Set everything except the server and its key."""
    settings.is_local = choice.is_local and not choice.endpoint
    settings.role_models = dict(choice.role_models)
    settings.limits = {role: dict(limits) for role, limits in choice.limits.items()}
    settings.parameters = {role: dict(found) for role, found in choice.parameters.items()}
    settings.entity_types = list(choice.entity_types)
    for name in OPTIONS:
        setattr(settings, name, getattr(choice, name))


def rerank_choice_in(settings: ModelSettings) -> RerankChoice:
    """Return the present choice, never with the key."""
    return RerankChoice(
        kind=RerankerKind(settings.reranker),
        endpoint=settings.rerank_endpoint,
        model=settings.rerank_model,
    )


def checked(choice: ModelChoice) -> ModelChoice:
    """Return the choice in its stored form. Raises InputError for an invalid one."""
    _refuse_unknown_roles(choice.role_models)
    role_models = {role: checked_model(str(name)) for role, name in choice.role_models.items()}
    found = replace(
        _checked_server(choice, checked_endpoint),
        role_models={role: model for role, model in role_models.items() if model},
        limits=_checked_limits(choice.limits),
        parameters=_checked_parameters(choice.parameters),
        concurrency=_within(choice.concurrency, CONCURRENCY, "Calls at once"),
        context_window=_within(choice.context_window, CONTEXT_WINDOW, "The context window"),
        gleanings=_within(choice.gleanings, GLEANINGS, "Second looks"),
        entity_types=checked_entity_types(choice.entity_types),
        instructions=checked_instructions(choice.instructions),
    )
    has_all = all(role.value in found.role_models for role in Role)
    if found.endpoint and not found.model and not has_all:
        raise _refused(
            "No model is named for this endpoint.", "Enter a model's name at the endpoint."
        )
    return found


def checked_rerank_choice(choice: RerankChoice) -> RerankChoice:
    """Return the choice in its stored form. Raises InputError for an invalid one."""
    if choice.kind not in set(RerankerKind):
        raise _refused(
            f"'{str(choice.kind)[:40]}' is no reranker: there are {', '.join(RerankerKind)}."
        )
    found = _checked_server(
        replace(choice, kind=RerankerKind(choice.kind)), checked_rerank_endpoint
    )
    if found.kind is RerankerKind.ENDPOINT and not (found.endpoint and found.model):
        raise _refused(
            "A reranking endpoint needs an address and a model.",
            "Enter both, or choose to rerank with the chat model.",
        )
    return found


def _checked_server(choice: ChoiceT, rule: Callable[[str], str]) -> ChoiceT:
    return replace(
        choice,
        endpoint=rule(choice.endpoint),
        key=None if choice.key is None else checked_key(choice.key),
        model=checked_model(choice.model),
    )


def checked_endpoint(text: str) -> str:
    """Return the base URL of an OpenAI-compatible server, '' for none.

    >>> checked_endpoint(" http://localhost:8080/v1/chat/completions ")
    'http://localhost:8080/v1'

    Azure's classic addresses keep their version: ``…/deployments/NAME?api-version=2024-10-21``.
    """
    address, _, query = text.strip().partition("?")
    address = _FULL_ADDRESS.sub("", address).rstrip("/")
    if not address:
        return ""
    if len(address) > LONGEST_ENDPOINT:
        raise _refused(f"The endpoint has more than {LONGEST_ENDPOINT} characters.")
    parts = _parts(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _refused("The endpoint must start with http:// or https:// and name a host.")
    if "@" in parts.netloc:
        raise _refused("The endpoint must not hold a name or password: the key has its own field.")
    if parts.fragment or (query and not _API_VERSION.fullmatch(query)):
        raise _refused("The endpoint must be an address without '?' and '#'.")
    return f"{address}?{query}" if query else address


def check_reachable(endpoint: str) -> None:
    """Raise InputError unless the address leads where models may be: see ``kb_project.egress``."""
    if endpoint and not egress.may_connect(endpoint):
        raise InputError(
            egress.not_reached(urlsplit(endpoint).hostname or "The endpoint"),
            code="endpoint_not_reached",
            kept="Nothing was changed.",
            next_step="Check the address; your administrator can allow a private one.",
        )


def checked_rerank_endpoint(text: str) -> str:
    """
    >>> checked_rerank_endpoint("https://api.example.com/v2/rerank/")
    'https://api.example.com/v2'
    """
    return checked_endpoint(text.strip().rstrip("/").removesuffix("/rerank"))


def origin(endpoint: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port: where a key may be sent.

    >>> origin("https://Models.example.org/v1") == origin("https://models.example.org:443/other")
    True
    """
    parts = urlsplit(endpoint)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", parts.port or usual


def host_of(endpoint: str) -> str:
    """Return the part of a URL that may be shown to everyone.

    >>> host_of("http://localhost:8080/v1"), host_of("")
    ('localhost:8080', '')
    """
    return urlsplit(endpoint).netloc.rpartition("@")[2]


def checked_key(text: str) -> str:
    """Validate a key for use in a header: printable ASCII characters, no spaces."""
    key = text.strip()
    if len(key) > LONGEST_KEY:
        raise _refused(f"The key has more than {LONGEST_KEY} characters.")
    if not key.isascii() or _UNPRINTABLE.search(key):
        raise _refused("The key contains invalid characters, such as spaces or accents.")
    return key


def checked_model(text: str) -> str:
    name = text.strip()
    if len(name) > LONGEST_MODEL:
        raise _refused(f"The name of a model has at most {LONGEST_MODEL} characters.")
    if not name.isprintable():
        raise _refused("The name of a model cannot hold line breaks or control characters.")
    return name


def checked_entity_types(types: Iterable[str]) -> tuple[str, ...]:
    """Return the types in order, without repeats or extra spaces."""
    names = dict.fromkeys(" ".join(name.split()) for name in types)
    found = tuple(name for name in names if name)
    if len(found) > MOST_TYPES:
        raise _refused(f"There may be at most {MOST_TYPES} entity types.")
    if any(len(name) > LONGEST_TYPE or not name.isprintable() for name in found):
        raise _refused(f"An entity type has at most {LONGEST_TYPE} printable characters.")
    return found


def checked_instructions(text: str) -> str:
    """Return instructions for answers on one line."""
    if len(found := " ".join(_UNSTORABLE.sub(" ", text).split())) > LONGEST_INSTRUCTIONS:
        raise _refused(f"Instructions have at most {LONGEST_INSTRUCTIONS:,} characters.")
    return found


def checked_money(amount: Decimal | str | float, most: Decimal, what: str) -> Decimal:
    """Return an amount from 0 to ``most``. Raises InputError, also for NaN and infinity."""
    try:
        money = Decimal(str(amount).strip())
    except InvalidOperation:
        raise _refused(f"{what} must be a number.") from None
    if not money.is_finite() or not 0 <= money <= most:
        raise _refused(f"{what} must be between 0 and {most:,}.")
    return money


def _parts(address: str) -> SplitResult:
    if _UNPRINTABLE.search(address):
        raise _refused("The endpoint is not an address: it contains spaces or control characters.")
    if "\\" in address:
        raise _refused("The endpoint is not an address: it contains a backslash.")
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        raise _refused("The endpoint is not an address.") from None
    return parts


def _checked_limits(given: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    _refuse_unknown_roles(given)
    bounds = {"max_output": (1, MOST_OUTPUT), "timeout": (1, LONGEST_TIMEOUT)}
    found: dict[str, dict[str, float]] = {}
    for role, limits in given.items():
        if unknown := set(limits) - set(bounds):
            raise _refused(f"'{min(unknown)[:40]}' is no limit: max_output and timeout are.")
        if limits:
            found[role] = {
                name: _within(int(value), bounds[name], f"The {name} of {role}")
                for name, value in limits.items()
            }
    return found


def parameters_in(text: str) -> dict[str, Any]:
    """Read parameters as people type them: a JSON object, or names with their values.

    >>> parameters_in("reasoning_effort=low, top_p=0.9")
    {'reasoning_effort': 'low', 'top_p': 0.9}
    """
    text = text.strip()
    if text.startswith("{"):
        try:
            found = json.loads(text, parse_constant=str)
        except (ValueError, RecursionError):
            raise _refused("The parameters are no JSON object.") from None
        return checked_parameters(found)
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise _refused(
            f"'{wrong[0].strip()[:40]}' has no value.",
            "Enter parameters as name=value between commas, or as a JSON object.",
        )
    return checked_parameters({name.strip(): _value_in(value.strip()) for name, _, value in pairs})


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """
    >>> parameters_text({"reasoning_effort": "low"}), parameters_text({"stop": ["a", "b"]})
    ('reasoning_effort=low', '{"stop": ["a", "b"]}')
    """
    plain = ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in parameters.items()
    )
    try:
        is_plain = parameters_in(plain) == dict(parameters)
    except InputError:
        is_plain = False
    return plain if is_plain else json.dumps(dict(parameters), ensure_ascii=False)


def checked_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request may say besides. Raises InputError for what it says already."""
    for name in parameters:
        if not _PARAMETER.fullmatch(name):
            raise _refused(f"'{name[:40]}' is no name of a parameter.")
        if name in OWN_PARAMETERS:
            raise _refused(f"'{name}' is set by Concordance itself.")
    try:
        said = json.dumps(parameters, allow_nan=False, ensure_ascii=False)
        is_storable = said.encode() and r"\u0000" not in said
    except (ValueError, TypeError, RecursionError):
        said, is_storable = "", False
    if not is_storable:
        raise _refused("The parameters are no JSON object.")
    if len(said) > LONGEST_PARAMETERS:
        raise _refused(f"A role's parameters have at most {LONGEST_PARAMETERS:,} characters.")
    return dict(parameters)


def _checked_parameters(given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    _refuse_unknown_roles(given)
    return {role: checked_parameters(found) for role, found in given.items() if found}


def _value_in(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def _refuse_unknown_roles(given: Mapping[str, object]) -> None:
    if unknown := set(given) - set(Role):
        raise _refused(f"'{min(unknown)[:40]}' is no role; there are {', '.join(Role)}.")


def _within(number: int, bounds: tuple[int, int], what: str) -> int:
    least, most = bounds
    if not least <= number <= most:
        raise _refused(f"{what} must be from {least:,} to {most:,}.")
    return number


def _refused(happened: str, next_step: str = "") -> InputError:
    return InputError(happened, kept="Nothing was changed.", next_step=next_step)
