"""Parses a model's reply into a value of a schema, or into a description of what is wrong.

Nothing a model says is trusted: its length and nesting are limited before it is parsed, characters
that Postgres cannot hold are removed, and numbers that are not finite become null.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from typing import Any, Final, Generic

import json_repair
from pydantic import BaseModel, ValidationError

from kb_project.llm.ports import ChatRequest, SchemaT

DEEPEST: Final = 40
LONGEST: Final = 300_000
"""Characters of an answer that are parsed: 75,000 tokens, beyond any answer requested."""
LONGEST_REPAIR: Final = 60_000
"""Characters that the tolerant parser reads; it is a hundred times slower than the strict one."""
_PROBLEMS: Final = 8
_STRINGS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKET: Final = re.compile(r"[{}\[\]]")
_STEPS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}
_THOUGHT_BEGINS: Final = "<think>"
_THOUGHT_ENDS: Final = "</think>"
_FENCE: Final = re.compile(r"```[a-zA-Z0-9_-]*\s*\n(.*?)(?:```|\Z)", re.DOTALL)
# Control characters except tab and line breaks, and characters that override text direction.
_UNSTORABLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]"
)
# Keywords that servers' grammars and strict modes refuse or cannot handle; pydantic checks them
# afterwards.
_LEFT_OUT: Final = frozenset(
    "default title examples format pattern minLength maxLength minItems maxItems uniqueItems"
    " minimum maximum exclusiveMinimum exclusiveMaximum multipleOf discriminator".split()
)
_DECODER: Final = json.JSONDecoder(parse_constant=lambda _: None)


@dataclass(frozen=True, slots=True)
class Parsed(Generic[SchemaT]):
    """Either a ``value``, or the ``problems`` of the answer, worded for the model; ``is_cut`` if it
    ends in the middle, though the server does not say so.
    """

    value: SchemaT | None
    problems: str = ""
    is_cut: bool = False


def parse(text: str, schema: type[SchemaT]) -> Parsed[SchemaT]:
    """Parse an answer; never raises."""
    if len(text) > LONGEST:
        return Parsed(None, f"The answer is longer than {LONGEST} characters.")
    answer = without_wrapping(text)
    if _depth(answer) > DEEPEST:
        return Parsed(None, f"The answer is nested deeper than {DEEPEST} levels.")
    if _is_cut(answer):
        return Parsed(None, "The answer ends before its JSON object is complete.", is_cut=True)
    problems = "The answer is not a JSON object."
    for candidate in _candidates(answer):
        try:
            return Parsed(schema.model_validate(_storable(candidate)))
        except ValidationError as error:
            problems = _in_words(error)
        except (ValueError, RecursionError, OverflowError):
            continue
    return Parsed(None, problems)


def parse_for(request: ChatRequest[SchemaT], schema: type[SchemaT], text: str) -> Parsed[SchemaT]:
    """Parse an answer to a request; one that fits its schema may still be ``wrong``."""
    found = parse(text, schema)
    wrong = request.wrong(found.value) if request.wrong and found.value is not None else ""
    return Parsed(None, wrong) if wrong else found


def storable(text: str) -> str:
    """Remove control characters, lone surrogates and direction overrides.

    >>> storable("a\\0b")
    'ab'
    """
    return _UNSTORABLE.sub("", text)


def without_wrapping(text: str) -> str:
    """Return the answer without thoughts and without its Markdown fence.

    >>> without_wrapping('<think>hm</think>Here:\\n```json\\n{"a": 1}\\n```')
    '{"a": 1}'
    """
    answer = without_thoughts(text)
    fence = None if answer.startswith("{") else _FENCE.search(answer)
    return fence.group(1).strip() if fence else answer


def without_thoughts(text: str) -> str:
    """Remove a reasoning model's thoughts from free text; '' if nothing else is left."""
    answer = text.rpartition(_THOUGHT_ENDS)[2].strip()
    return "" if answer.startswith(_THOUGHT_BEGINS) else answer


def streamed_without_thoughts(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces after a leading ``<think>…</think>``; all of them if there is none."""
    held = ""
    for piece in pieces:
        held += piece
        start = held.lstrip()
        if start.startswith(_THOUGHT_BEGINS) and _THOUGHT_ENDS not in start:
            continue
        if len(start) < len(_THOUGHT_BEGINS) and _THOUGHT_BEGINS.startswith(start):
            continue
        is_thought = start.startswith(_THOUGHT_BEGINS)
        begun = held.rpartition(_THOUGHT_ENDS)[2].lstrip() if is_thought else held
        yield from filter(None, chain([begun], pieces))
        return
    if held and not held.lstrip().startswith(_THOUGHT_BEGINS):
        yield held


def strict_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema in strict form: closed objects, every property required."""
    return _made_strict(schema)[0]


def schema_text(schema: type[BaseModel]) -> str:
    """Return the JSON schema on one line, for prompts and cache keys."""
    return _made_strict(schema)[1]


@cache
def _made_strict(schema: type[BaseModel]) -> tuple[dict[str, Any], str]:
    found: dict[str, Any] = _strict(schema.model_json_schema())
    return found, json.dumps(found, sort_keys=True, separators=(",", ":"))


def _strict(part: Any, *, is_properties: bool = False) -> Any:
    if isinstance(part, list):
        return [_strict(item) for item in part]
    if not isinstance(part, dict):
        return part
    left = part if is_properties else {k: v for k, v in part.items() if k not in _LEFT_OUT}
    strict = {
        key: _strict(value, is_properties=not is_properties and key in ("properties", "$defs"))
        for key, value in left.items()
    }
    if not is_properties and isinstance(strict.get("properties"), dict):
        strict["additionalProperties"] = False
        strict["required"] = list(strict["properties"])
    return strict


def _candidates(answer: str) -> list[Any]:
    """Return possible readings of the answer, the strict one first."""
    start = answer.find("{")
    if start == -1:
        return []
    try:
        # raw_decode, because text after a complete object does no harm.
        return [_DECODER.raw_decode(answer, start)[0]]
    except (ValueError, RecursionError):
        return _repaired(answer[start:])


def _repaired(answer: str) -> list[Any]:
    if len(answer) > LONGEST_REPAIR:
        return []
    try:
        value: Any = json_repair.loads(answer, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, KeyError, TypeError):
        return []
    # Several objects in one answer are parsed as a list: try those with the most keys first.
    parts = value if isinstance(value, list) else [value]
    objects = [part for part in parts if isinstance(part, dict)]
    return sorted(objects, key=len, reverse=True)[:3]


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(str(key)): _storable(item) for key, item in value.items()}
    return value


def _depth(answer: str) -> int:
    return max(accumulate(_steps(answer), initial=0))


def _steps(answer: str) -> Iterator[int]:
    return map(_STEPS.__getitem__, _BRACKET.findall(_STRINGS.sub("", answer)))


def _is_cut(answer: str) -> bool:
    """Whether a JSON object ends in the middle of a value; mere closing brackets may be missing.

    >>> _is_cut('{"a": [{"b": 1}, {"b": "x'), _is_cut('{"a": [{"b": 1}, {"b": 2}]')
    (True, False)
    """
    start = answer.find("{")
    is_open = start >= 0 and not answer.rstrip().endswith(("}", "]")) and sum(_steps(answer)) > 0
    if not is_open:
        return False
    try:
        _DECODER.raw_decode(answer, start)
    except (ValueError, RecursionError):
        return True
    return False


def _in_words(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"- {'.'.join(str(part)[:60] for part in problem['loc']) or 'the answer'}: {problem['msg']}"
        for problem in found[:_PROBLEMS]
    ]
    more = len(found) - len(lines)
    return "\n".join(lines + ([f"- and {more} more"] if more else []))
