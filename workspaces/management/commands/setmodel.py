"""setmodel --workspace SLUG --endpoint URL --model NAME: choose a workspace's models.

Options left out stay as they are. The key comes from a file or from the variable MODEL_KEY, never
from the command line, which other users of the machine can read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from kb_project.commands import DataCommand
from kb_project.env import env_str
from kb_project.errors import InputError
from kb_project.llm.ports import Role
from workspaces import access
from workspaces.language_models import embedding, queries, services, testing
from workspaces.language_models.choice import (
    DEAREST,
    ModelChoice,
    checked_money,
    parameters_in,
)
from workspaces.language_models.providers import BY_SLUG, PROVIDERS
from workspaces.models import RerankerKind, Workspace
from workspaces.people import queries as people_queries
from workspaces.ports import LOCAL
from workspaces.usage import queries as usage_queries

LONGEST_KEY_FILE: Final = 10_000


class Command(DataCommand):
    help = "Choose a workspace's models, their prices and its budget."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument(
            "--provider",
            choices=[one.slug for one in PROVIDERS if one.endpoint],
            help="A common provider: its address, where --endpoint names no other.",
        )
        parser.add_argument(
            "--provider-prices",
            action="store_true",
            help="Take over the prices that are listed for the provider's models in use, in US"
            " dollars, where --price names no other. Prices change: compare its price list.",
        )
        parser.add_argument("--endpoint", help="Address of an OpenAI-compatible server.")
        parser.add_argument("--model", help="The model's name at the endpoint.")
        parser.add_argument("--key-file", type=Path, help="A file with the endpoint's key.")
        parser.add_argument(
            "--key-from-env", action="store_true", help="Take the key from MODEL_KEY."
        )
        parser.add_argument("--no-key", action="store_true", help="Remove the stored key.")
        parser.add_argument("--local", action="store_true", help="Go back to the local tier.")
        parser.add_argument(
            "--role",
            action="append",
            default=[],
            metavar="ROLE=MODEL",
            help=f"A model for one role: {', '.join(Role)}. May be repeated.",
        )
        parser.add_argument(
            "--parameter",
            action="append",
            default=[],
            metavar="ROLE:NAME=VALUE",
            help="What a role's requests say besides, such as answer:reasoning_effort=low; without"
            " a value it is removed. May be repeated.",
        )
        parser.add_argument("--context-window", type=int, metavar="TOKENS")
        parser.add_argument("--concurrency", type=int, metavar="CALLS")
        parser.add_argument("--gleanings", type=int)
        parser.add_argument(
            "--extraction",
            choices=("model", "local"),
            help="What reads passages; with local, the model only writes reports, summaries and"
            " answers.",
        )
        parser.add_argument(
            "--instructions", metavar="TEXT", help="For every answer; '' removes them."
        )
        parser.add_argument(
            "--reranker", choices=RerankerKind.values, help="What reranks passages."
        )
        parser.add_argument("--rerank-endpoint", metavar="URL", help="A server with /rerank.")
        parser.add_argument("--rerank-model", metavar="MODEL", help="The reranker's model name.")
        parser.add_argument("--rerank-key-file", type=Path, help="A file with the reranker's key.")
        parser.add_argument(
            "--embedding",
            metavar="MODEL",
            help="Build an index with an embedding model of the endpoint, or with 'local'.",
        )
        parser.add_argument(
            "--keep-embedding", action="store_true", help="Abandon the index being built."
        )
        parser.add_argument(
            "--forget-replies",
            metavar="ROLE",
            help="Forget the kept replies to a role, or 'all': they are then paid for again.",
        )
        parser.add_argument("--budget", metavar="AMOUNT", help="Spending limit, or 'none'.")
        parser.add_argument(
            "--price",
            action="append",
            default=[],
            metavar="MODEL=IN,OUT",
            help="Per million tokens; IN,OUT,CACHED if cached input has its own price.",
        )
        parser.add_argument(
            "--test",
            action="store_true",
            help="Make one real call of each kind. Other models and another reranker are saved only"
            " if they answer.",
        )
        parser.add_argument("--anyway", action="store_true", help="Save what fails the test, too.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *_args: Any, workspace: str, **options: Any) -> None:
        found = people_queries.workspace_at(slug=workspace)
        try:
            tested = self._set(found, options)
        except InputError as error:
            if error.code == "endpoint_not_reached":
                error.next_step = (
                    "Check the address. A private one must be listed in MODEL_HOSTS_ALLOWED, as"
                    " host, host:port or network."
                )
            raise
        answer = _answer(found) | {
            "test": [
                {"what": line.what, "works": line.is_good, "sentence": line.sentence}
                for line in tested
            ]
        }
        text = json.dumps(answer, ensure_ascii=False) if options["json"] else _as_text(answer)
        self.stdout.write(text)

    def _set(self, workspace: Workspace, options: dict[str, Any]) -> list[testing.TestLine]:
        """Save what the options say, and return what a test found."""
        lines = _set_models(workspace, options)
        reranked = _set_reranker(workspace, options)
        if options["price"] or options["provider_prices"]:
            services.prices_set(workspace=workspace, prices=_prices(workspace, options))
        if options["budget"] is not None:
            cap = None if options["budget"] == "none" else options["budget"]
            services.budget_set(workspace=workspace, cap=cap)
        if options["forget_replies"]:
            role = "" if options["forget_replies"] == "all" else options["forget_replies"]
            services.cache_clear(workspace=workspace, role=role)
        _set_embedding(workspace, options)
        if not options["test"]:
            return []
        rest = _tested(workspace, chat=not lines, reranker=not reranked)
        return lines + reranked + rest


def _set_models(workspace: Workspace, options: dict[str, Any]) -> list[testing.TestLine]:
    """Save the models; those that are tested first, only if they answer."""
    if options["local"]:
        services.model_settings_clear(workspace=workspace)
        return []
    with access.in_workspace(workspace.pk):
        now = queries.model_state(workspace=workspace).choice
    choice = _choice(now, options)
    if choice == now:
        return []
    if not options["test"]:
        services.model_settings_save(workspace=workspace, choice=choice)
        return []
    tested = testing.model_test_and_save(workspace=workspace, choice=choice)
    if tested.works:
        return list(tested.lines)
    if not options["anyway"]:
        raise _not_answered("A model does not answer.", "Nothing was changed.", tested)
    services.model_settings_save(workspace=workspace, choice=choice)
    return list(tested.lines)


def _not_answered(happened: str, kept: str, tested: testing.ModelTest) -> InputError:
    failed = [f"{line.what}: {line.sentence}" for line in tested.lines if not line.is_good]
    return InputError(
        happened,
        code="model_test_failed",
        kept=kept,
        next_step=" ".join([*failed, "--anyway saves the settings all the same."]),
    )


def _set_embedding(workspace: Workspace, options: dict[str, Any]) -> None:
    if options["keep_embedding"]:
        embedding.embedding_give_up(workspace=workspace)
    if model := options["embedding"]:
        provider = LOCAL if model == LOCAL else embedding.ENDPOINT
        embedding.embedding_change(workspace=workspace, provider=provider, model=model)


def _set_reranker(workspace: Workspace, options: dict[str, Any]) -> list[testing.TestLine]:
    """Save the reranker; one that is tested first, only if it works."""
    names = {"kind": "reranker", "endpoint": "rerank_endpoint", "model": "rerank_model"}
    given = {name: options[of] for name, of in names.items() if options[of] is not None}
    key = _key_in(options["rerank_key_file"])
    if not given and key is None:
        return []
    with access.in_workspace(workspace.pk):
        now = queries.reranker_state(workspace=workspace).choice
    choice = replace(now, key=key, **given)
    if not options["test"]:
        services.reranker_set(workspace=workspace, choice=choice)
        return []
    tested = testing.reranker_test_and_save(workspace=workspace, choice=choice)
    if not tested.works:
        if not options["anyway"]:
            kept = "The reranker was not changed."
            raise _not_answered("The reranker does not work.", kept, tested)
        services.reranker_set(workspace=workspace, choice=choice)
    return list(tested.lines)


def _tested(workspace: Workspace, *, chat: bool, reranker: bool) -> list[testing.TestLine]:
    """Test the saved ``chat`` models and the ``reranker``, where they are set."""
    with access.in_workspace(workspace.pk):
        has_reranker = queries.reranker_state(workspace=workspace).is_on
        is_local = queries.model_state(workspace=workspace).tier == "local"
    lines: list[testing.TestLine] = []
    if chat and not (has_reranker and is_local):
        lines += testing.model_test(workspace=workspace).lines
    if reranker and has_reranker:
        lines += testing.reranker_test(workspace=workspace).lines
    return lines


def _choice(now: ModelChoice, options: dict[str, Any]) -> ModelChoice:
    names = ("endpoint", "model", "context_window", "concurrency", "gleanings", "instructions")
    given: dict[str, Any] = {name: options[name] for name in names if options[name] is not None}
    if options["extraction"] is not None:
        given["local_extraction"] = options["extraction"] == "local"
    if options["provider"]:
        given = {"endpoint": BY_SLUG[options["provider"]].endpoint} | given
    roles = dict(_pair(text) for text in options["role"])
    return replace(
        now,
        key=_key(options),
        role_models={**now.role_models, **roles},
        parameters=_parameters(now, options["parameter"]),
        **given,
    )


def _parameters(now: ModelChoice, texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    found = {role: dict(named) for role, named in now.parameters.items()}
    for text in texts:
        role, _, given = text.partition(":")
        name, value = _pair(given)
        of_role = found.setdefault(role, {})
        of_role.pop(name, None)
        of_role |= parameters_in(f"{name}={value}") if value else {}
    return found


def _key(options: dict[str, Any]) -> str | None:
    if options["no_key"]:
        return ""
    if options["key_from_env"]:
        return env_str("MODEL_KEY")
    return _key_in(options["key_file"])


def _key_in(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LONGEST_KEY_FILE).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The key file {path} cannot be read ({type(error).__name__}).",
            kept="Nothing was changed.",
        ) from None


def _prices(workspace: Workspace, options: dict[str, Any]) -> list[services.PriceGiven]:
    """Return the present prices, replaced by those of the provider and by the given ones."""
    with access.in_workspace(workspace.pk):
        rows = usage_queries.prices_in(workspace=workspace)
        state = queries.model_state(workspace=workspace)
    listed = queries.suggestions(state=state, slug="", priced=()).prices
    prices = {
        row.model: services.PriceGiven(row.model, row.prompt, row.completion, row.cached_prompt)
        for row in rows
    }
    if options["provider_prices"]:
        prices |= {
            model: services.PriceGiven(model, price.prompt, price.completion, price.cached_prompt)
            for model, price in listed.items()
        }
    for text in options["price"]:
        model, amounts = _pair(text)
        prices[model] = _price(model, amounts.split(","))
    return list(prices.values())


def _price(model: str, amounts: Sequence[str]) -> services.PriceGiven:
    if len(amounts) not in {2, 3}:
        raise InputError(
            f"The price of {model} must be IN,OUT or IN,OUT,CACHED.", kept="Nothing was changed."
        )
    money = [checked_money(amount, DEAREST, f"The price of {model}") for amount in amounts]
    cached: Decimal | None = money[2] if len(money) > 2 else None
    return services.PriceGiven(model, money[0], money[1], cached)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise InputError(
            f"'{text[:60]}' must have the form NAME=VALUE.", kept="Nothing was changed."
        )
    return name.strip(), value.strip()


def _answer(workspace: Workspace) -> dict[str, Any]:
    with access.in_workspace(workspace.pk):
        state = queries.model_state(workspace=workspace)
        spending = usage_queries.spending_of(workspace=workspace)
        reranker = queries.reranker_state(workspace=workspace)
        embeds = queries.embedding_state(workspace=workspace)
        unpriced = usage_queries.unpriced(
            workspace=workspace,
            models=state.models,
            is_installation=state.tier == "installation",
        )
    return {
        "workspace": workspace.slug,
        "tier": state.tier,
        "extraction": "local" if state.choice.local_extraction else "model",
        "host": state.host,
        "model": state.model,
        "roles": {row.role.value: row.model for row in state.roles},
        "has_key": state.has_key,
        "reranker": reranker.model,
        "embedding": embeds.model,
        "next_embedding": (embeds.building.model or LOCAL) if embeds.building else None,
        "budget": None if spending.cap is None else float(spending.cap),
        "spent": float(spending.spent),
        "unpriced": unpriced,
    }


def _as_text(answer: dict[str, Any]) -> str:
    tiers = {
        "own": f"works with {answer['model'] or 'a model for each role'} at {answer['host']}",
        "installation": f"uses the installation's model, {answer['model']} at {answer['host']}",
        "local": "works on the local tier",
    }
    budget = "no limit" if answer["budget"] is None else f"a budget of {answer['budget']:g}"
    lines = [
        f"The workspace '{answer['workspace']}' {tiers[answer['tier']]}.",
        f"{answer['spent']:.4f} spent, {budget}.",
        *(
            [
                f"No price is set for {', '.join(answer['unpriced'])}: such calls count as free,"
                " and no budget limits them. --price sets one."
            ]
            if answer["unpriced"]
            else []
        ),
        *(["It reads passages without it."] if is_read_locally(answer) else []),
        *([f"Passages are reranked by {answer['reranker']}."] if answer["reranker"] else []),
        *(
            [f"An index with {answer['next_embedding']} is being built by the workers."]
            if answer["next_embedding"]
            else []
        ),
        *(_line(line) for line in answer["test"]),
    ]
    return "\n".join(lines)


def is_read_locally(answer: dict[str, Any]) -> bool:
    return bool(answer["tier"] != "local" and answer["extraction"] == "local")


def _line(line: dict[str, Any]) -> str:
    return f"{'works   ' if line['works'] else 'FAILED  '}  {line['what']}: {line['sentence']}"
