"""A report by a chat model: the prompt, and what may be kept of the answer.

Nothing is taken on trust. References to records that were not in the prompt are dropped, findings
left without a reference are rejected, and both are counted; marks in the text become references.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final

import regex
from pydantic import BaseModel, BeforeValidator, Field

from ingestion.models import Finding
from ingestion.stages.reports.context import LETTERS, Context, Kind, Record
from ingestion.stages.reports.extractive import MOST_FINDINGS
from kb_project import prompt
from kb_project.llm.ports import ModelOptions
from kb_project.llm.tokens import count_tokens
from kb_project.prompt import Prompt
from kb_project.text.sentences import sentence_spans
from kb_project.text.words import is_unspaced, words

PROMPT: Final = Path(__file__).parents[2] / "prompts" / "report.md"
RECORDS: Final = "records"

MOST_SENTENCES: Final = 12
MOST_REFERENCES: Final = 10
# References that a summary sentence gets from the names in it.
MOST_TIES: Final = 4
LONGEST_TITLE: Final = 300
LONGEST_REASON: Final = 500
LONGEST_SENTENCE: Final = 600
LONGEST_TEXT: Final = 4_000

INVENTED: Final = "invented"
"""References to records that were not in the prompt."""
UNREFERENCED: Final = "unreferenced"
"""Findings rejected because none of their references was real."""

_LETTERS: Final = "".join(LETTERS.values())
_LABEL: Final = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}])([{_LETTERS}])\s?(\d{{1,6}})(?![\p{{L}}\p{{N}}])"
)
# "[E1, R2]", "(E1)", "[Data: E1; R2]": brackets with nothing but labels in them.
_MARK: Final = regex.compile(
    rf"\s*[\[(（【](?:Data:|Records?:)?\s*[{_LETTERS}]\s?\d{{1,6}}"
    rf"(?:\s*(?:[,;，、]|and)?\s*[{_LETTERS}]\s?\d{{1,6}})*\s*[\])）】]"
)
_LATE_MARKS: Final = regex.compile(rf"([.!?。！？])((?:{_MARK.pattern})+)")
_NUMBER: Final = regex.compile(r"-?\d+(?:[.,]\d+)?")
_UNSEEN: Final = regex.compile(r"[\p{Cc}\p{Cs}]+")


def number_of(value: Any) -> float | None:
    """A rating as a number from 0 to 10, or None.

    >>> number_of("7/10"), number_of("8,5 of 10"), number_of(42), number_of("high")
    (7.0, 8.5, 10.0, None)
    """
    found = _NUMBER.search(value) if isinstance(value, str) else None
    text = found.group().replace(",", ".") if found else value
    try:
        number = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(10.0, max(0.0, number)) if isfinite(number) else None


def text_of(value: Any) -> str:
    """Any scalar as text on one line, without invisible characters; '' for anything else."""
    text = str(value) if isinstance(value, str | int | float) else ""
    return " ".join(_UNSEEN.sub(" ", text).split())


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


Text = Annotated[str, BeforeValidator(text_of)]
Texts = Annotated[list[Text], BeforeValidator(list_of)]


class FindingReply(BaseModel):
    """One finding as the model returns it."""

    summary: Text
    explanation: Text = ""
    references: Texts = Field(default_factory=list)


class ReportReply(BaseModel):
    """A report as the model returns it."""

    title: Text
    summary: Text
    rating: Annotated[float | None, BeforeValidator(number_of)] = None
    rating_reason: Text = ""
    findings: Annotated[list[FindingReply], BeforeValidator(list_of)] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReferencedText:
    """A sentence of the summary, or a finding, with the records it rests on."""

    part: Finding.Part
    text: str
    explanation: str
    references: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class ParsedReport:
    """What is kept of a reply. ``rating`` is None and ``title`` '' if the model gave none."""

    title: str
    summary: str
    rating: float | None
    reason: str
    texts: tuple[ReferencedText, ...]
    rejected: dict[str, int]

    @property
    def is_grounded(self) -> bool:
        """Whether anything in it rests on a record."""
        return any(text.references for text in self.texts)


def prompt_of(context: Context, options: ModelOptions) -> Prompt:
    """The prompt for a report; the same records give the same prompt."""
    return prompt.load(PROMPT).fill(
        records=prompt.fenced(context.text, RECORDS), focus=_focus(options)
    )


def overhead(options: ModelOptions) -> int:
    """Tokens of a prompt without its records, but with the schema."""
    empty = prompt_of(Context(), options)
    return sum(map(count_tokens, (empty.system, empty.user, _schema())))


@cache
def _schema() -> str:
    return json.dumps(ReportReply.model_json_schema())


def _focus(options: ModelOptions) -> str:
    """What was learned from a sample of the documents; it is data, not instruction."""
    learned = [
        ("domain", options.domain),
        ("persona", options.persona),
        ("rating", options.report_rating),
        ("language", options.report_language or options.language),
    ]
    return "\n".join(prompt.fenced(text_of(value)[:600], name) for name, value in learned if value)


def parse(reply: ReportReply, context: Context) -> ParsedReport:
    """Keep what is valid of a reply to the prompt made from ``context``."""
    rejected: Counter[str] = Counter()
    findings = list(_findings(reply.findings, context, rejected))
    summary = list(_sentences(reply.summary[:LONGEST_TEXT], context, findings, rejected))
    return ParsedReport(
        title=_clean(reply.title)[:LONGEST_TITLE].strip(),
        summary=" ".join(one.text for one in summary),
        rating=reply.rating,
        reason=_clean(reply.rating_reason)[:LONGEST_REASON],
        texts=(*summary, *findings),
        rejected=dict(rejected),
    )


def _findings(
    replies: Iterable[FindingReply], context: Context, rejected: Counter[str]
) -> Iterator[ReferencedText]:
    seen: set[str] = set()
    for reply in replies:
        summary, explanation = _clean(reply.summary), _clean(reply.explanation)
        if len(seen) == MOST_FINDINGS or not summary or summary.casefold() in seen:
            continue
        marks = [*reply.references, *_marks(reply.summary), *_marks(reply.explanation)]
        references = _records(marks, context, rejected)
        if not references:
            rejected[UNREFERENCED] += 1
            continue
        seen.add(summary.casefold())
        yield ReferencedText(
            Finding.Part.FINDING, summary[:LONGEST_SENTENCE], explanation[:LONGEST_TEXT], references
        )


def _sentences(
    summary: str, context: Context, findings: Sequence[ReferencedText], rejected: Counter[str]
) -> Iterator[ReferencedText]:
    """Split the summary into sentences, each with its marks, else with what its names lead to."""
    # "… the light. [E1] Bo …": a mark after a full stop belongs to the sentence before it.
    text = _LATE_MARKS.sub(r"\2\1", summary)
    spans = sentence_spans(text)[:MOST_SENTENCES]
    for start, end in spans:
        sentence = _clean(text[start:end])
        if sentence:
            marks = _records(_marks(text[start:end]), context, rejected)
            references = marks or _tied(sentence, context, findings)
            yield ReferencedText(Finding.Part.SUMMARY, sentence, "", references)


def _records(marks: Iterable[str], context: Context, rejected: Counter[str]) -> tuple[Record, ...]:
    """The records that marks name, each once; marks that name none are counted."""
    found: dict[str, Record] = {}
    for mark in marks:
        labels = [letter + number.lstrip("0") for letter, number in _LABEL.findall(mark.upper())]
        real = [label for label in labels if label in context.labels]
        rejected[INVENTED] += len(labels) - len(real) if labels else bool(mark)
        found |= {label: context.labels[label] for label in real}
    rejected += Counter()  # drops zero counts
    return tuple(found.values())[:MOST_REFERENCES]


def _marks(text: str) -> list[str]:
    return [match.group() for match in _MARK.finditer(text)]


def _clean(text: str) -> str:
    return str(_MARK.sub("", text)).strip()


# The kinds of records that names in a sentence lead to, in order of preference.
_NAMED_KINDS: Final[Sequence[Kind]] = (Kind.RELATIONSHIP, Kind.ENTITY)


def _tied(
    sentence: str, context: Context, findings: Sequence[ReferencedText]
) -> tuple[Record, ...]:
    """Records whose names all occur in the sentence, else those of the finding it repeats."""
    folded_sentence = _folded(sentence)
    tied = [
        record
        for kind in _NAMED_KINDS
        for record in context.labels.values()
        if record.kind is kind and all(_is_named(name, folded_sentence) for name in record.names)
    ]
    if tied:
        return tuple(tied[:MOST_TIES])
    of_sentence = set(folded_sentence.split())
    overlaps = [(_shared(of_sentence, f"{one.text} {one.explanation}"), one) for one in findings]
    best = max(overlaps, key=lambda pair: pair[0], default=None)
    return best[1].references[:MOST_TIES] if best and best[0] >= _LEAST_SHARED else ()


# A sentence repeats a finding that has at least this share of its words.
_LEAST_SHARED: Final = 0.5


def _shared(wanted: set[str], text: str) -> float:
    return len(wanted & set(_folded(text).split())) / (len(wanted) or 1)


def _is_named(name: str, text: str) -> bool:
    """Whether a name occurs in a folded text: as whole words, if the script has words.

    >>> _is_named("Ada", _folded("By Ada's light.")), _is_named("Ada", _folded("Adam."))
    (True, False)
    >>> _is_named("徐达", _folded("大将徐达去世。"))
    True
    """
    folded = _folded(name)
    bare = folded.strip()
    return bool(bare) and (bare if all(map(is_unspaced, bare.split())) else folded) in text


def _folded(text: str) -> str:
    folded = (word.folded.removesuffix("'s") for word in words(text))
    return f" {' '.join(folded)} "
