"""Tells source code and shell commands from prose, line by line, without a grammar."""

from __future__ import annotations

from typing import Final

import regex

_CODE_LINE: Final = regex.compile(
    # The lines of a list may end with semicolons, too.
    r"[{}]\s*$|[(){}=\[\]<>\"'].*;\s*$|^\s*\S+(?:\s\S+){0,2};\s*$|^\s*(?:\#include|import\s|from\s\S+\simport|use\s|def\s|class\s|fn\s|return\b|"
    r"@\w|//|/?\*|\}|\)|if\s*\(|for\s*\(|let\s|const\s|var\s|pub\s|public\s|private\s|[\w.]+\(.*\)$)"
)
_SHELL_LINE: Final = regex.compile(
    r"^\s*(?:\$|%|[\w.-]+@[\w.-]+[:~\w/ -]*[#$])\s+\S"  # a prompt
    r"|^\s*\#\s+(?:[\w./-]+/)?[a-z][\w.-]*\s+[-/<]"  # root's prompt
    r"|^\s*(?:sudo|apt(?:-get)?|cd|git|pip3?|npm|curl|wget|mkdir|chmod|chown)\s"
    r"(?:[^.!?]|\.(?=\S))*[^.!?:,;\s]\s*$"
    # Also ordinary words, which may begin a line of wrapped prose.
    r"|^\s*(?:make\s+[\w./-]+\s*$|tar\s+-?[cxtzjvf]+\s|export\s+\w+=)"
    r"|^\s*(?:\.{0,2}/|~/)?[\w./+-]+(?:\s+-{1,2}[\w-]+(?:[= ]\S+)?){2,}\s*$"  # cmd -a --long x
)
_CODE_SHARE: Final = 0.4
_LINES: Final = 80


def is_code(text: str) -> bool:
    """Whether most lines look like code.

    >>> is_code("int main() {\\n  return 0;\\n}"), is_code("It was; he said.\\nThen it ended.")
    (True, False)
    """
    lines = [line[:300] for line in text.split("\n", _LINES)[:_LINES] if line.strip()]
    hits = sum(1 for line in lines if _CODE_LINE.search(line))
    return len(lines) > 1 and hits > _CODE_SHARE * len(lines)


def is_shell(line: str) -> bool:
    """Whether a line is a shell command or program call, with or without a prompt.

    >>> is_shell("$ dpkg -i foo.deb"), is_shell("cd debhello-0.0"), is_shell("Make a copy first.")
    (True, True, False)
    """
    return _SHELL_LINE.search(line[:300]) is not None
