"""`make audit`: a package without an answer is a failure, and no licence goes unread."""

from __future__ import annotations

import runpy
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def audit() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / ".ci" / "audit.py"))


@pytest.fixture(scope="module")
def lock() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / ".ci" / "lock.py"))


def metadata(**headers: str | list[str]) -> Message:
    message = Message()
    for name, given in headers.items():
        for value in [given] if isinstance(given, str) else given:
            message[name.replace("_", "-")] = value
    return message


def test_every_installed_package_has_a_permissive_licence_or_was_looked_at(audit):
    assert list(audit["licences"]()) == []


def test_a_vulnerability_is_named_with_the_version_that_mends_it(audit):
    vuln = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"], "description": "bad"}
    packages = [
        {"name": "toy", "version": "1.0", "vulns": [vuln]},
        {"name": "sound", "version": "2.0", "vulns": []},
    ]

    found = list(audit["found_in"](packages))

    assert found == ["toy 1.0: PYSEC-1, CVE-1; fixed in 1.1"]


@pytest.mark.parametrize(
    "packages", [[], [{"name": "toy", "skip_reason": "Dependency not found: toy"}]]
)
def test_no_answer_is_not_a_good_answer(audit, packages):
    (said,) = audit["found_in"](packages)

    assert said.startswith("Vulnerabilities are unknown")
    assert "/pypi/NAME/VERSION/json" in said


def test_a_service_that_cannot_be_asked_is_a_failure(audit):
    (said,) = audit["vulnerabilities"](["--no-such-option"])

    assert said.startswith("Vulnerabilities are unknown: the service did not answer")


@pytest.mark.parametrize(
    ("headers", "permissive"),
    [
        ({"License_Expression": "MIT"}, True),
        ({"License_Expression": "MIT OR GPL-3.0-only"}, True),
        ({"License_Expression": "MIT AND GPL-3.0-only"}, False),
        ({"Classifier": ["License :: OSI Approved :: BSD License"]}, True),
        (
            {
                "Classifier": [
                    "License :: OSI Approved :: BSD License",
                    "License :: Other/Proprietary License",
                ]
            },
            False,
        ),
        ({"License": "MIT License\n\nCopyright (c)"}, True),
        ({"License": "All rights reserved"}, False),
        ({}, False),
    ],
)
def test_what_counts_as_permissive(audit, headers, permissive):
    stated = audit["stated_licences"](metadata(**headers))

    assert audit["is_permissive"](stated) is permissive


@pytest.mark.parametrize(
    ("interpreter", "abi", "accepted"),
    [
        ("cp311", "cp311", True),
        ("cp39", "abi3", True),
        ("py3", "none", True),
        ("cp312", "abi3", False),
        ("cp310", "cp310", False),
        ("cp311", "cp311t", False),
        ("py2", "none", False),
        ("pp311", "pypy311_pp73", False),
    ],
)
def test_hashes_are_kept_of_what_our_python_can_install(lock, interpreter, abi, accepted):
    assert lock["accepts"](interpreter, abi) is accepted
