"""ingest PATH… --workspace SLUG: add files to a workspace, or read its documents again."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from django.core.management.base import CommandError, CommandParser

from ingestion.documents import (
    estimates,
    outcomes,
    queries,
    rereading,
    services,
    trial_reading,
    versions,
)
from ingestion.documents.cost_model import Extent
from ingestion.documents.estimates import FileSize
from ingestion.documents.metadata import clean_tags
from ingestion.documents.services import Filing, Upload
from ingestion.history.recording import ChangeContext
from ingestion.management.output import INTERRUPTED, Intake, as_json, as_text, total_of
from ingestion.models import Document
from kb_project.commands import DataCommand
from kb_project.errors import ConflictError, InputError, NotFoundError, ParseError, UploadError
from workspaces import access
from workspaces.language_models import queries as language_model_queries, services as model_services
from workspaces.models import Workspace
from workspaces.people import queries as people_queries, services as people_services
from workspaces.usage import queries as usage_queries
from workspaces.usage.queries import UsageLine

SECONDS_BETWEEN_LINES: Final = 10.0
AddFile = Callable[[Workspace, IO[bytes], str, Filing], Upload]
NOTHING_DONE: Final = {"needs_attention": 0, "refused": 0, "paused": 0}


class Command(DataCommand):
    help = "Add files, or all files in folders, to a workspace."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
        parser.add_argument("--workspace", required=True, metavar="SLUG")
        parser.add_argument(
            "--wait", action="store_true", help="Process the documents in this command."
        )
        parser.add_argument("--collection", default="", help="Collection to add them to.")
        parser.add_argument(
            "--tag", action="append", default=[], help="Tag to add; may be repeated."
        )
        parser.add_argument(
            "--dated", type=_date, help="Date of the documents, for example 2024-05-01."
        )
        parser.add_argument(
            "--estimate", action="store_true", help="Show the estimated cost and add nothing."
        )
        parser.add_argument(
            "--read-again",
            action="store_true",
            help="Add no files; read the documents again that were read with other settings.",
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="Add a file with the name of a document as its next version.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object per line.")

    def handle(self, *_args: Any, **options: Any) -> None:
        if bool(options["paths"]) == options["read_again"]:
            raise CommandError("Name files or folders, or use --read-again.")
        try:
            total = self._read_again(options) if options["read_again"] else self._take_in(options)
        except KeyboardInterrupt:
            self.stderr.write(
                "\nStopped. Files added so far are kept. A worker continues, or run this command"
                " again."
            )
            sys.exit(INTERRUPTED)
        if total["needs_attention"] or total["refused"] or total["paused"]:
            sys.exit(1)

    def _take_in(self, options: Mapping[str, Any]) -> dict[str, Any]:
        files = list(files_below(options["paths"]))
        if options["estimate"]:
            workspace = people_queries.workspace_at(slug=options["workspace"])
            return self._say(costs(workspace, files, is_replacing=options["replace"]), options)
        filing = Filing(options["collection"], tuple(clean_tags(options["tag"])), options["dated"])
        workspace = self._workspace(options["workspace"])
        add_file = replace_or_add if options["replace"] else add
        if workspace_uses_model(workspace):
            self.stderr.write(" ".join(costs(workspace, files, is_replacing=options["replace"])))
        return self._ingest(
            workspace, partial(take_in, workspace, files, filing, add_file), options
        )

    def _read_again(self, options: Mapping[str, Any]) -> dict[str, Any]:
        workspace = people_queries.workspace_at(slug=options["workspace"])
        sentences = costs_again(workspace)
        if options["estimate"]:
            return self._say(sentences, options)
        self.stderr.write(" ".join(sentences))
        return self._ingest(workspace, partial(read_again, workspace), options)

    def _say(self, sentences: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        is_json = options["json"]
        self.stdout.write(json.dumps({"estimate": sentences}) if is_json else "\n".join(sentences))
        return NOTHING_DONE

    def _ingest(
        self, workspace: Workspace, begin: Callable[[], Intake], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        started = time.monotonic()
        asks_models = workspace_uses_model(workspace)
        before = usage_of(workspace)
        intake = begin()
        if options["wait"]:
            services.process_workspace(workspace=workspace, on_progress=Progress(self.stderr))
        with access.in_workspace(workspace.pk):
            ingested = outcomes.document_outcomes(
                workspace=workspace, document_ids=intake.documents
            )
            total = total_of(workspace, ingested, intake, time.monotonic() - started)
        asked = usage_since(before, usage_of(workspace))
        total["usage"] = as_numbers(asked)
        write = as_json if options["json"] else as_text
        self.stdout.write("\n".join(write(ingested, intake, total)))
        if asks_models and options["wait"] and not options["json"]:
            self.stdout.write(" ".join(estimates.spent(asked, what="This")))
        return total

    def _workspace(self, slug: str) -> Workspace:
        try:
            return people_queries.workspace_at(slug=slug)
        except NotFoundError:
            name = slug.replace("-", " ").replace("_", " ").strip().capitalize()
            owner = people_queries.only_person()
            made = people_services.workspace_create(name=name or slug, slug=slug, owner=owner)
            model_services.installation_model_allow(workspace=made, is_allowed=True)
        whose = f" It belongs to {owner.email}." if owner else ""
        self.stderr.write(f"There was no workspace '{slug}', so '{made.name}' was created.{whose}")
        return made


class Progress:
    """Reports progress: one line that is rewritten, or an occasional line in a log."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._shown = ""
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        sentence = f"{done} of {total} documents"
        if sentence == self._shown:
            return
        if self._out.isatty():
            self._out.write(f"\r{sentence} ", ending="\n" if done == total else "")
        elif time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._out.write(sentence)
            self._last = time.monotonic()
        else:
            return
        self._shown = sentence


def workspace_uses_model(workspace: Workspace) -> bool:
    with access.in_workspace(workspace.pk):
        return language_model_queries.model_state(workspace=workspace).tier != "local"


def costs(workspace: Workspace, files: Sequence[Path], *, is_replacing: bool) -> list[str]:
    """Estimate the cost of taking in these files, in sentences; missing files count as nothing.

    Of those that replace a document, only what changes is counted.
    """
    found = [path for path in files if path.exists()]
    new = unknown(workspace, found)
    here = len(found) - len(new)
    if here and not new:
        return ["Costs nothing: these files are already in the workspace."]
    sizes = {path: path.stat().st_size for path in new}
    read: dict[Path, Extent] = {}
    if workspace_uses_model(workspace):
        few = trial_reading.few_of(sizes)
        read = extents_of(workspace, few, is_replacing=is_replacing)
    given = [FileSize(path.name, size, read.get(path)) for path, size in sizes.items()]
    sentences = estimates.sentences(estimates.estimate_for_files(workspace=workspace, files=given))
    if here:
        sentences.append(
            f"{here:,} of {len(found):,} files cost nothing: they are already in the workspace."
        )
    return sentences


def extents_of(
    workspace: Workspace, paths: Sequence[Path], *, is_replacing: bool
) -> dict[Path, Extent]:
    """Read files to see how much there is in them, leaving out those that cannot be read.

    Those are refused with their reason when they are taken in.
    """
    found, others = {}, {}
    for path in paths:
        document = document_replaced(workspace, path) if is_replacing else None
        if document is None:
            others[path] = path.name
            continue
        with suppress(ParseError, UploadError, ConflictError, OSError):
            found[path] = trial_reading.replacement_extent(
                workspace=workspace, document_id=document.pk, path=path, name=path.name
            )
    return found | trial_reading.new_extents(workspace=workspace, files=others)


def document_replaced(workspace: Workspace, path: Path) -> Document | None:
    with access.in_workspace(workspace.pk):
        name = services.label_of(path.name)
        return queries.document_of_file(workspace=workspace, name=name)


def unknown(workspace: Workspace, paths: Sequence[Path]) -> list[Path]:
    """Return the files whose content the workspace does not have."""
    digests = dict.fromkeys(paths, "")
    for path in paths:
        # A file that cannot be read is refused with its reason when it is taken in.
        with suppress(OSError), path.open("rb") as file:
            digests[path] = hashlib.file_digest(file, "sha256").hexdigest()
    here = queries.contents_here(workspace=workspace, digests=set(digests.values()))
    return [path for path, digest in digests.items() if digest not in here]


def costs_again(workspace: Workspace) -> list[str]:
    """Estimate the cost of reading documents again, in sentences."""
    estimate = rereading.reading_again_estimate(workspace=workspace)
    if not estimate.documents:
        return [rereading.reread_sentence(0)]
    noun = "document is" if estimate.documents == 1 else "documents are"
    return [
        f"{estimate.documents:,} {noun} to be read again.",
        *estimates.sentences(estimate),
    ]


def read_again(workspace: Workspace) -> Intake:
    documents = rereading.outdated_ids(workspace=workspace)
    rereading.documents_read_again(workspace=workspace, documents=documents)
    return Intake(documents=list(documents))


def usage_of(workspace: Workspace) -> UsageLine:
    with access.in_workspace(workspace.pk):
        return usage_queries.usage_total(workspace=workspace)


def usage_since(before: UsageLine, after: UsageLine) -> UsageLine:
    """Return the usage between two readings of the ledger, by this command or others."""
    counted = ("calls", "cached", "failed", "prompt_tokens", "completion_tokens", "cost")
    return replace(
        after, **{name: getattr(after, name) - getattr(before, name) for name in counted}
    )


def as_numbers(usage: UsageLine) -> dict[str, Any]:
    return {
        "calls": usage.calls,
        "cached": usage.cached,
        "failed": usage.failed,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": float(usage.cost),
    }


def files_below(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files, and those below folders ordered by name; hidden ones are left out.

    Raises InputError where a path does not exist.
    """
    for path in paths:
        if path.is_dir():
            yield from (
                file
                for file in sorted(path.rglob("*"))
                if file.is_file()
                and not any(part.startswith(".") for part in file.relative_to(path).parts)
            )
        elif path.exists():
            yield path
        else:
            raise InputError(f"There is no file or folder '{path}'.", kept="Nothing was added.")


def add(workspace: Workspace, file: IO[bytes], name: str, filing: Filing) -> Upload:
    return services.document_upload(workspace=workspace, file=file, name=name, filing=filing)


def replace_or_add(workspace: Workspace, file: IO[bytes], name: str, filing: Filing) -> Upload:
    """Add the file as the next version of the document with its name, or as a new document."""
    document = queries.document_of_file(workspace=workspace, name=services.label_of(name))
    if document is None:
        return add(workspace, file, name, filing)
    change = ChangeContext(workspace, user=None, via="command")
    try:
        versions.document_replace(change=change, document=document, file=file, name=name)
    except ConflictError as error:
        if error.code != "same_content":
            raise
        return Upload(document, is_duplicate=True)
    return Upload(document, is_duplicate=False)


def take_in(
    workspace: Workspace, files: Sequence[Path], filing: Filing, add_file: AddFile
) -> Intake:
    """Store each file in its own transaction, so that a refused one does not affect the others."""
    intake = Intake()
    for path in files:
        try:
            with path.open("rb") as file, access.in_workspace(workspace.pk):
                upload = add_file(workspace, file, path.name, filing)
        except (UploadError, ConflictError) as error:
            intake.refused.append((path, error.sentence))
        except OSError as error:
            intake.refused.append((path, f"The file cannot be read ({error.strerror})."))
        else:
            intake.documents.append(upload.document.pk)
            if upload.is_duplicate:
                intake.duplicates.add(upload.document.pk)
    return intake


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError("must be a date such as 2024-05-01") from error
