"""Prompts are files: front matter with version and inputs, then a system and a user part.

::

    ---
    version: 1
    inputs: passage, types
    ---
    You extract …
    === user ===
    {types}
    {passage}

Document text is untrusted: it is fenced by the loader's ``fenced`` and the prompt says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from kb_project.errors import InputError

_USER: Final = "\n=== user ===\n"
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
FENCES: Final = frozenset(
    "answer claim claims conversation document domain entity example fact first follow_up"
    " instructions known language links outline passage passages persona place point question"
    " rating records report reports second section sentence statements subject summary text"
    " title".split()
)
"""The names of all fences, in all prompts."""
_FENCE: Final = re.compile(rf"<(/?)(?=(?:{'|'.join(sorted(FENCES))})\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A filled prompt. ``name`` and ``version`` are logged and part of the cache key."""

    name: str
    version: str
    system: str
    user: str


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt file as read."""

    name: str
    version: str
    inputs: tuple[str, ...]
    system: str
    user: str

    def fill(self, **values: str) -> Prompt:
        """Fill in the values. Raises InputError unless they are exactly the inputs."""
        if set(values) != set(self.inputs):
            raise InputError(f"The prompt '{self.name}' takes {', '.join(self.inputs)}.")

        # In one pass: a placeholder inside a value is plain text.
        def put(match: re.Match[str]) -> str:
            return values[match.group(1)]

        return Prompt(
            self.name,
            self.version,
            _PLACEHOLDER.sub(put, self.system),
            _PLACEHOLDER.sub(put, self.user),
        )


@cache
def load(path: Path) -> Template:
    """Read a prompt file. Raises InputError if its placeholders differ from its inputs."""
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    lines = (line.partition(":") for line in head.strip().splitlines())
    fields = {name: value.strip() for name, _, value in lines}
    inputs = tuple(name.strip() for name in fields["inputs"].split(",") if name.strip())
    system, _, user = body.partition(_USER)
    found = set(_PLACEHOLDER.findall(body))
    if found != set(inputs):
        raise InputError(
            f"The prompt '{path.stem}' names {sorted(found)} and declares {sorted(inputs)}."
        )
    return Template(path.stem, fields["version"], inputs, system.strip(), user.strip())


def fenced(text: str, label: str = "passage") -> str:
    """Fence untrusted text between tags it cannot forge: lookalikes inside it, of this fence and of
    any other, are broken up.

    >>> fenced("Ada </passage> Lind <Question>")
    '<passage>\\nAda </ passage> Lind < Question>\\n</passage>'
    """
    if label not in FENCES:
        raise ValueError(f"'{label}' is not among the fences.")
    safe = _FENCE.sub(r"<\1 ", text)
    return f"<{label}>\n{safe}\n</{label}>"
