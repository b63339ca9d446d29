"""What the scripted model says to the papers that a browser's tests add: all a page can show.

Reports with findings and one reference that leads nowhere, a claim for each sentence that says
"claims", a contradiction, look-alikes that are judged, and a passage that cannot be read at first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from tests.model_tier.tier import KEEPERS, PLACES
from tests.provider import Provider, Seen
from tests.provider_answers import LABEL, extraction, fence, first_words, report

SMUDGED: Final = "The next leaf is smudged"
NONSENSE: Final = "I am sorry, this page is too smudged for me to say anything."
CLAIM: Final = re.compile(r"[^.\n]*\bclaims\b[^.\n]*\.")
# Names that look alike, of which the model says that they are one.
SPELLINGS: Final = ("Skarrow Harbour", "Skarrow Harbor")
LETTER: Final = f"""# A letter from Skarrow

Ada Lind claims that the harbour light was lit in 1856. Bo Strand claims that it was lit in 1857.

Ada Lind kept the books of {SPELLINGS[0]}. Bo Strand owned a boat in {SPELLINGS[1]}.
"""
LEAF: Final = f"# A leaf\n\n{SMUDGED}, and names Greta Moe of Hollow Bay.\n"


@dataclass
class Articulate:
    """The model's side of the conversation; ``reads_smudges`` and ``writes_reports`` may change."""

    provider: Provider
    reads_smudges: bool = False
    writes_reports: bool = True

    def __post_init__(self) -> None:
        on = self.provider.script.on
        self.provider.script.key = self.provider.key
        on("you write down who and what|write down who and what", self.extraction)
        on("You write the report of one topic", self.report)
        on("You write one description", self.description)
        on("You compare two names", self.judgement)
        on("You decide which reports", self.ratings)
        on("You read reports on the topics", self.points)

    def extraction(self, seen: Seen) -> str | dict[str, Any]:
        passage = fence(seen.text, "passage")
        if SMUDGED in passage and not self.reads_smudges:
            return NONSENSE
        found = extraction(seen.text)
        if "claims" in found:
            found["claims"] = [claim(text.strip()) for text in CLAIM.findall(passage)]
        invented = {"name": "Nobody Inparticular", "type": "PERSON", "description": "Invented."}
        found["entities"].append(invented | {"quote": "words that stand nowhere in the passage"})
        return found

    def report(self, seen: Seen) -> str | dict[str, Any]:
        if not self.writes_reports:
            return NONSENSE
        labels = list(dict.fromkeys(LABEL.findall(fence(seen.text, "records")))) or ["E1"]
        written = report(seen.text)
        names = written["title"]
        written["summary"] = (
            f"The records speak of {names} and of the light they kept [{labels[0]}]. "
            f"What was sold was oil, by the barrel [{labels[-1]}]. "
            "All of this was done before the winter came."
        )
        written["rating_reason"] = "The trade in oil runs through most of the papers."
        written["findings"] = [
            finding(names, labels[at : at + 3]) for at in range(0, min(len(labels), 10), 2)
        ]
        written["findings"][0]["references"].append("E9999")
        return written

    def ratings(self, seen: Seen) -> dict[str, Any]:
        labels = LABEL.findall(fence(seen.text, "reports"))
        return {"ratings": [{"record": label, "rating": 5} for label in labels]}

    def points(self, seen: Seen) -> dict[str, Any]:
        labels = LABEL.findall(fence(seen.text, "reports"))
        said = "The light of Skarrow was kept, and oil was sold by the barrel."
        return {"points": [{"description": said, "score": 90, "records": labels[:2]}]}

    def description(self, seen: Seen) -> dict[str, Any]:
        said = first_words(fence(seen.text, "statements"), 40)
        conflict = {"reason": "The year of the first lighting differs.", "statements": [1, 2]}
        return {"description": said, "conflicts": [conflict]}

    def judgement(self, seen: Seen) -> dict[str, Any]:
        same = all(name in seen.text for name in SPELLINGS)
        verdict = "same" if same else "different"
        return {"verdict": verdict, "reason": "Both passages speak of the harbour of Skarrow."}


def claim(sentence: str) -> dict[str, Any]:
    return {
        "subject": " ".join(sentence.split()[:2]),
        "object": "",
        "type": "first lighting",
        "status": "SUSPECTED",
        "period_start": re.findall(r"\d{4}", sentence)[-1],
        "period_end": "",
        "description": sentence,
        "quote": sentence,
    }


def finding(names: str, labels: list[str]) -> dict[str, Any]:
    return {
        "summary": f"{names} stand at the centre of the trade in oil.",
        "explanation": "Barrels were carried over the sound in small boats, year after year.",
        "references": labels,
    }


def papers(*, paragraphs: int = 60) -> list[tuple[str, str]]:
    """Names and texts: two long papers about the same people, a letter, and a smudged leaf."""
    long = [(f"Paper {n}.md", paper(n, paragraphs=paragraphs)) for n in (1, 2)]
    return [*long, ("Letter.md", LETTER), ("Leaf.md", LEAF)]


def paper(number: int, *, paragraphs: int) -> str:
    said = [f"# Paper {number}"]
    for n in range(paragraphs):
        keeper = KEEPERS[(number + n) % len(KEEPERS)]
        other = KEEPERS[(number + 2 * n + 1) % len(KEEPERS)]
        place = PLACES[(number * 3 + n) % len(PLACES)]
        said.append(
            f"{keeper} kept the light of {place} in the year {1700 + 60 * number + n} and sold {n}"
            f" barrels of oil to {other}, who carried them over the sound in a small boat before"
            f" the winter of paper {number} came and the harbour froze."
        )
    return "\n\n".join(said)
