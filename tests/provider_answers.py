"""What the scripted provider says when a test says nothing: sensible answers made from the prompt.

Extraction takes runs of capitalised words for entities and quotes the sentence they stand in, so
that every quote is really in its passage. Other prompts are told apart by the form they ask for.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

NAME: Final = re.compile(r"\b[A-Z][a-z]+(?: (?:of )?[A-Z][a-z]+)*\b")
SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]?")
LABEL: Final = re.compile(r"^\s*\[?([ERCTP]\d+)\b", re.MULTILINE)
PASSAGE: Final = re.compile(r"^\[(\d+)\]\n<passage>\n[^\n]*\n(.*?)\n</passage>$", re.M | re.S)
JUDGED: Final = re.compile(r"^(\d+)\.\n<sentence>$", re.MULTILINE)
WORD: Final = re.compile(r"\S+")

ANSWERS: Final[Mapping[str, str]] = {
    "invalid": "I would rather tell you about my day.",
    "schema": json.dumps({"weather": "fine", "entities": "many", "verdict": 7}),
    "empty": "",
    "thinking": "<think>Hm. Nothing.</think>",
}
"""Answers that are of no use, by the fault's name."""


def answer_for(text: str, schema: Mapping[str, Any] | None) -> str:
    """The model's answer to ``text`` (all messages); free text when no form is asked for."""
    form = schema or form_in(text)
    for name, make in FORMS.items():
        if name in form.get("properties", {}) if form else f'"{name}"' in text:
            return json.dumps(make(text))
    return json.dumps(filled(form, form)) if form else plain(text)


def fence(text: str, *labels: str) -> str:
    """What stands between the last marks of one of ``labels``; the whole text without any."""
    for label in labels:
        found = re.findall(rf"<{label}>\n(.*?)\n</{label}>", text, re.DOTALL)
        if found:
            return str(found[-1])
    return text


def extraction(text: str) -> dict[str, Any]:
    """Entities and relationships; nothing more when asked again for what was missed."""
    parts: dict[str, Any] = {"entities": [], "relationships": []}
    if '"claims"' in text:
        parts["claims"] = []
    if "once more" in text:
        return parts
    seen: set[str] = set()
    for sentence in SENTENCE.findall(fence(text, "passage", "chunk", "text")):
        quote = sentence.strip()
        names = list(dict.fromkeys(NAME.findall(quote)))
        new = [name for name in names if name not in seen]
        seen |= set(new)
        parts["entities"] += [entity(name, quote) for name in new]
        parts["relationships"] += [link(a, b, quote) for a, b in itertools.pairwise(names)]
    return parts


def entity(name: str, quote: str) -> dict[str, Any]:
    return {"name": name, "type": "THING", "description": f"{name}: {quote}", "quote": quote}


def link(source: str, target: str, quote: str) -> dict[str, Any]:
    return {
        "source": source,
        "target": target,
        "description": f"{source} and {target}: {quote}",
        "keywords": ["together"],
        "strength": 5,
        "quote": quote,
    }


def description(text: str) -> dict[str, Any]:
    return {"description": first_words(fence(text, "statements"), 30), "conflicts": []}


def verdict(text: str) -> dict[str, Any]:
    return {"verdict": "unsure", "number": 0, "reason": "The material does not decide it."}


def report(text: str) -> dict[str, Any]:
    records = fence(text, "records")
    labels = list(dict.fromkeys(LABEL.findall(records))) or ["E1"]
    finding = {"summary": "They belong together.", "explanation": "As the records say."}
    return {
        "title": first_words(NAME.findall(records)[0] if NAME.search(records) else "Topic", 10),
        "summary": f"The records belong together [{labels[0]}].",
        "rating": 5,
        "rating_reason": "It is in the middle.",
        "findings": [finding | {"references": labels[:3]}],
    }


def plain(text: str) -> str:
    if "NO_ANSWER" in text:
        return cited(text)
    return first_words(fence(text, "chunk", "passage", "passages", "document"), 60)


def cited(text: str) -> str:
    """An answer: the first sentence of each of the first two passages, with its label."""
    found = PASSAGE.findall(text)[:2]
    said = ((number, SENTENCE.search(inside)) for number, inside in found)
    return (
        " ".join(f"{one.group().strip()} [{number}]" for number, one in said if one) or "NO_ANSWER"
    )


def judged(text: str) -> dict[str, Any]:
    """Support for every sentence of an answer; for other forms of verdicts nothing."""
    numbers = [int(number) for number in JUDGED.findall(text)]
    return {"verdicts": [{"sentence": number, "verdict": "supported"} for number in numbers]}


def first_words(text: str, count: int) -> str:
    return " ".join(WORD.findall(text)[:count]) or "Nothing."


FORMS: Final[dict[str, Callable[[str], dict[str, Any]]]] = {
    "entities": extraction,
    "rating_reason": report,
    "verdict": verdict,
    "verdicts": judged,
    "conflicts": description,
}


def form_in(text: str) -> dict[str, Any] | None:
    """The JSON schema that stands in the prompt where the server knows no response_format."""
    _, found, rest = text.partition("fit this JSON schema:\n")
    if not found:
        return None
    schema: dict[str, Any] = json.JSONDecoder().raw_decode(rest)[0]
    return schema


def filled(part: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The plainest value that a JSON schema allows."""
    if "$ref" in part:
        return filled(root["$defs"][part["$ref"].rpartition("/")[2]], root)
    for choice in ("enum", "anyOf"):
        if choice in part:
            first = part[choice][0]
            return filled(first, root) if isinstance(first, dict) else first
    if part.get("type") == "object" or "properties" in part:
        return {name: filled(sub, root) for name, sub in part.get("properties", {}).items()}
    empty: dict[str, Any] = {"array": [], "string": "text", "boolean": False, "null": None}
    return empty.get(str(part.get("type")), part.get("const", 1))


# --- vectors and scores ---------------------------------------------------------------------------
def embedded(body: Mapping[str, Any], dimension: int) -> dict[str, Any]:
    """Vectors that depend on the words alone, not of length one, in reverse order."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = [
        {"index": place, "object": "embedding", "embedding": list(vector(text, dimension))}
        for place, text in enumerate(texts)
    ]
    return {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": len(texts)}}


def reranked(body: Mapping[str, Any], scripted: Mapping[str, Any]) -> tuple[int, Any]:
    """Scores by the share of the question's words that a text holds, best first as servers do."""
    rows = [
        {"index": place, "relevance_score": score}
        for place, score in scores(body["query"], body["documents"])
    ]
    usual = {"results": rows[: body["top_n"]], "usage": {"total_tokens": 7 * len(rows)}}
    return 200, scripted or usual


def reranked_by_tei(body: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[int, Any]:
    texts = body.get("texts")
    if texts is None or len(texts) > 32:
        said = "batch size > maximum allowed batch size 32" if texts else "missing field `texts`"
        return 422, {"error": said, "error_type": "Validation"}
    return 200, [{"index": n, "score": score} for n, score in scores(body["query"], texts)]


def scores(query: str, texts: list[str]) -> list[tuple[int, float]]:
    wanted = set(re.findall(r"\w+", query.lower()))
    found = [
        len(wanted & set(re.findall(r"\w+", text.lower()))) / max(1, len(wanted)) for text in texts
    ]
    return sorted(enumerate(found), key=lambda one: -one[1])


def vector(text: str, dimension: int) -> Iterator[float]:
    counts = [0.5] + [0.0] * (dimension - 1)
    for word in re.findall(r"\w+", text.lower()):
        counts[hashlib.sha256(word.encode()).digest()[0] % dimension] += 1.0
    yield from counts
