"""A model that answers from three papers, word by word and slowly when it is told to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tests.provider import Provider, Seen

PASSAGE: Final = re.compile(r"\[(\d+)\]\n<passage[^>]*>\n(.*?)\n</passage>", re.DOTALL)
FACTS: Final = (
    "The tide mill at Farne was built by Isobel Crane in 1823.",
    "The wheel of the tide mill at Farne was cast at the Ostrander foundry.",
    "The tide mill at Farne ground barley until the flood of 1911.",
)
ALOUD: Final = "Nobody at Farne wrote down what became of the millstones after all of that."
FOLLOW_UP: Final = "Who was Isobel Crane of Farne?"
QUESTION: Final = "What is known of the tide mill at Farne?"


@dataclass
class Narrator:
    """The model's side of the conversation; ``talks_for`` sentences that rest on nothing."""

    provider: Provider
    talks_for: int = 1

    def __post_init__(self) -> None:
        script = self.provider.script
        script.key = self.provider.key
        script.on("You answer a question from the documents", self.answer)
        script.on("suggest", {"questions": [FOLLOW_UP]})

    def answer(self, seen: Seen) -> str:
        """Each fact with the number of the passage it stands in, and a sentence that has none."""
        said = []
        for fact in FACTS:
            numbers = [number for number, text in PASSAGE.findall(seen.text) if fact in text]
            said.append(f"{fact} [{numbers[0]}]" if numbers else fact)
        return " ".join([*said, *[ALOUD] * self.talks_for])

    def speak_slowly(self) -> None:
        """The next answer comes a word at a time."""
        self.provider.script.next("drip")


def papers() -> list[tuple[str, str]]:
    """Names and texts: a fact in each, among other things."""
    filling = "It rained on {} for the whole of that week, and the boats stayed in the harbour."
    return [
        (f"{name}.md", f"# {name}\n\n{fact} {filling.format(name)}\n")
        for name, fact in zip(("Builders", "Foundries", "Floods"), FACTS, strict=True)
    ]
