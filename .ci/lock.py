#!/usr/bin/env python3
"""Write .ci/hashes: the SHA-256 of every file that pip may install for the requirements.

The requirements are for people: a version and its reason on each line. For each of them there is a
file of the same name in .ci/hashes, which pip installs from. It holds the hashes that the package
indexes of this machine offer, for all platforms of Python 3.11. `make lock` writes them; with
--check nothing is written or fetched, and a pin without hashes is an error.

It runs on the pip of .venv, which is pinned: pip has no public way to list a version's files.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pip._internal.index.collector import LinkCollector
    from pip._internal.models.link import Link

ROOT: Final = Path(__file__).resolve().parent.parent
HASHES: Final = ROOT / ".ci" / "hashes"
FILES: Final = tuple(sorted(path.name for path in ROOT.glob("requirements*.txt")))
BUILD: Final = "build.txt"
"""What is installed first: it installs the rest, and builds what comes as source."""
BUILD_PACKAGES: Final = ("pip", "setuptools")
PIN: Final = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)==(?P<version>[^\s;\\]+)")
INCLUDE: Final = re.compile(r"-r (\S+)")
HASH: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")
OUR_PYTHON: Final = 11
"""The minor version of Python 3 that the project runs on."""
HEADER: Final = """\
# Written by `make lock`: the files that may be installed for {source}.
--require-hashes
--only-binary :all:
"""


def main() -> int:
    if "--check" in sys.argv[1:]:
        return check()
    for file in FILES:
        write(file, pins_of(file))
    pins = pins_of("requirements.txt")
    write(BUILD, {name: pins[name] for name in BUILD_PACKAGES if name in pins})
    for path in set(HASHES.iterdir()) - {HASHES / name for name in (*FILES, BUILD)}:
        path.unlink()
    return 0


def check() -> int:
    """Compare each pin with the hashes there are, and say what is missing or left over."""
    problems = [problem for file in FILES for problem in differences(file)]
    if pins_in(HASHES / BUILD).items() - pins_in(HASHES / "requirements.txt").items():
        problems.append(f".ci/hashes/{BUILD} has other versions than requirements.txt")
    if problems:
        print("concordance: the requirements and their hashes differ:", file=sys.stderr)  # noqa: T201
        print(*(f"  {problem}" for problem in problems), sep="\n", file=sys.stderr)  # noqa: T201
        print("Run `make lock`, look at the difference, and commit it.", file=sys.stderr)  # noqa: T201
    return 1 if problems else 0


def differences(file: str) -> Iterator[str]:
    wanted, hashed = pins_of(file), pins_in(HASHES / file)
    for name, version in wanted.items():
        if hashed.get(name) != version:
            yield f"{file}: {name}=={version} has no hashes"
    for name in hashed.keys() - wanted.keys():
        yield f".ci/hashes/{file}: {name} is no longer required"


def pins_of(file: str) -> dict[str, str]:
    """Return the versions that a file of requirements pins itself, by name."""
    lines = (ROOT / file).read_text().splitlines()
    return {match["name"]: match["version"] for line in lines if (match := PIN.match(line))}


def pins_in(path: Path) -> dict[str, str]:
    """Return the versions of a written file that have hashes."""
    entries = path.read_text().replace("\\\n", "").splitlines() if path.exists() else []
    found = [match for entry in entries if HASH.search(entry) and (match := PIN.match(entry))]
    return {match["name"]: match["version"] for match in found}


def write(file: str, pins: dict[str, str]) -> None:
    sources = (ROOT / file).read_text().splitlines() if file != BUILD else []
    lines = [match[0] for line in sources if (match := INCLUDE.match(line))]
    print(f"concordance: {len(pins)} packages for {file}", file=sys.stderr)  # noqa: T201
    files = {name: usable(links) for name, links in links_of(pins).items()}
    # A package without a wheel is built, by the verified setuptools of .venv.
    lines += [f"--no-binary {name}" for name, links in files.items() if not any_wheel(links)]
    for name, links in files.items():
        found = sorted({sha256(link) for link in links})
        if not found:
            raise SystemExit(f"concordance: no index has a file of {name}=={pins[name]}")
        hashes = (f"    --hash=sha256:{value}" for value in found)
        lines.append(" \\\n".join((f"{name}=={pins[name]}", *hashes)))
    HASHES.mkdir(exist_ok=True)
    (HASHES / file).write_text(HEADER.format(source=file) + "\n".join(lines) + "\n")


def links_of(pins: dict[str, str]) -> dict[str, list[Link]]:
    """Return the files of each version that the indexes of pip's configuration list."""
    from pip._internal.commands import create_command  # noqa: PLC0415

    command = create_command("download")
    options, _ = command.parse_args(["--quiet", "--quiet"])
    with command.main_context():
        session = command.get_default_session(options)  # type: ignore[attr-defined]
        finder = command._build_package_finder(options, session)  # type: ignore[attr-defined]  # noqa: SLF001
        collector = finder._link_collector  # noqa: SLF001
        return {
            name: [link for link in listed(collector, name) if is_of(version, link)]
            for name, version in pins.items()
        }


def listed(collector: LinkCollector, name: str) -> Iterator[Link]:
    from pip._internal.index.collector import parse_links  # noqa: PLC0415

    def links_of_page(page: Link) -> Any:
        content = collector.fetch_response(page)
        return parse_links(content) if content else ()

    sources = collector.collect_sources(name, candidates_from_page=links_of_page)
    links: list[Any] = []
    for source in (*sources.find_links, *sources.index_urls):
        links += (*source.page_candidates(), *source.file_links()) if source else ()
    yield from links


def is_of(version: str, link: Link) -> bool:
    """Whether a file is of this version, as pip sees it: 2.0 includes the build 2.0+cpu."""
    from pip._vendor.packaging import utils  # noqa: PLC0415
    from pip._vendor.packaging.specifiers import SpecifierSet  # noqa: PLC0415

    parse = utils.parse_wheel_filename if link.is_wheel else utils.parse_sdist_filename
    try:
        return SpecifierSet(f"=={version}").contains(parse(link.filename)[1], prereleases=True)
    except (utils.InvalidWheelFilename, utils.InvalidSdistFilename):
        return False


def usable(links: list[Link]) -> list[Link]:
    """Return the wheels for our Python, on any platform, or the source if there are none."""
    return [link for link in links if is_for_our_python(link)] or [
        link for link in links if not link.is_wheel
    ]


def any_wheel(links: list[Link]) -> bool:
    return any(link.is_wheel for link in links)


def is_for_our_python(link: Link) -> bool:
    from pip._vendor.packaging.utils import parse_wheel_filename  # noqa: PLC0415

    tags = parse_wheel_filename(link.filename)[3] if link.is_wheel else ()
    return any(accepts(tag.interpreter, tag.abi) for tag in tags)


def accepts(interpreter: str, abi: str) -> bool:
    """Whether Python 3.11 takes a wheel with these tags."""
    match = re.fullmatch(r"(cp|py)3(\d*)", interpreter)
    if not match or int(match[2] or 0) > OUR_PYTHON:
        return False
    exact = int(match[2] or 0) == OUR_PYTHON
    if match[1] == "cp":
        return abi == "abi3" or (exact and abi in {"cp311", "none"})
    return abi == "none"


def sha256(link: Link) -> str:
    """Return the hash that an index states, or of the file itself if it is on this machine."""
    if link.hash_name == "sha256" and link.hash:
        return link.hash
    if link.is_file:
        return hashlib.sha256(Path(link.file_path).read_bytes()).hexdigest()
    raise SystemExit(f"concordance: the index states no SHA-256 for {link.filename}")


if __name__ == "__main__":
    raise SystemExit(main())
