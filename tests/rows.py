"""Rows for tests, made by plain functions: people, workspaces, documents and what is in them.

Every function opens its own scope, so it works inside and outside of ``access.in_workspace``. The
cast is always the same: Alice owns, Bob may read, Charlie is a stranger.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import pairwise

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils.text import slugify

from ingestion.models import (
    Alias,
    Chunk,
    ChunkEmbedding,
    Collection,
    Community,
    CommunityMember,
    CommunityReport,
    Document,
    DocumentState,
    DocumentVersion,
    Entity,
    Evidence,
    Finding,
    FindingEvidence,
    Mention,
    Posting,
    Relationship,
)
from ingestion.stages import snapshot
from kb_project.llm.ports import Embedder
from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from kb_project.text.words import terms
from workspaces import access, audit
from workspaces.models import (
    ApiToken,
    AuditAction,
    Capability,
    Membership,
    Role,
    User,
    Workspace,
)
from workspaces.people import services as people_services
from workspaces.tokens import services as token_services

PASSWORD = "correct horse battery staple"  # of people who exist in tests only


@dataclass(frozen=True)
class Cast:
    """A workspace with its owner, its reader, and somebody who has no business there."""

    workspace: Workspace
    alice: User
    bob: User
    charlie: User


def make_user(name: str) -> User:
    """A person whose address is their name; the same person when asked twice."""
    [user] = _people(name)
    return user


@cache
def _hashed(*_hashers: str) -> str:
    # Hashing takes half a second on purpose: once is enough for everybody, in each way.
    return make_password(PASSWORD)


@contextmanager
def as_owner() -> Iterator[None]:
    """Be the owner of the tables for the block: only tests may, and migrations."""
    run_sql("SET LOCAL ROLE kb_owner")
    try:
        yield
    finally:
        run_sql("RESET ROLE")


def make_operator(name: str = "Olga") -> User:
    """A person with every right in the admin; the application itself can make none."""
    with transaction.atomic(), as_owner():
        operator = make_user(name)
        User.objects.filter(pk=operator.pk).update(is_staff=True, is_superuser=True)
    operator.refresh_from_db()
    return operator


def make_cast(name: str = "Harbour") -> Cast:
    alice, bob, charlie = _people("Alice", "Bob", "Charlie")
    workspace = _workspace(name, {alice: Role.OWNER, bob: Role.VIEWER})
    return Cast(workspace, alice, bob, charlie)


def make_workspace(name: str = "Harbour", *, owner: User | None = None) -> Workspace:
    return _workspace(name, {owner: Role.OWNER} if owner else {})


def _people(*names: str) -> list[User]:
    """People whose addresses are their names; the same people when asked for twice."""
    people = {f"{name.lower()}@example.com": name for name in names}
    found = User.objects.in_bulk(people, field_name="email")
    password = _hashed(*settings.PASSWORD_HASHERS)
    new = [
        User(email=email, password=password, name=name)
        for email, name in people.items()
        if email not in found
    ]
    found |= {user.email: user for user in User.objects.bulk_create(new)}
    return [found[email] for email in people]


def _workspace(name: str, members: Mapping[User, Role]) -> Workspace:
    """A workspace as its services make it, in a third of the statements: most tests begin so.

    The first member created it.
    """
    creator = next(iter(members), None)
    slug = people_services.free_slug(slugify(name) or "workspace")
    workspace = Workspace(name=name, slug=slug, created_by=creator)
    with access.in_workspace(workspace.pk):
        workspace.save(force_insert=True)
        Membership.objects.bulk_create(
            Membership(workspace=workspace, user=user, role=role, capabilities=role.capabilities)
            for user, role in members.items()
        )
        created, after = AuditAction.WORKSPACE_CREATED, {"name": name}
        audit.record(created, workspace=workspace, user=creator, after=after)
    return workspace


def make_token(
    workspace: Workspace,
    member: User,
    *may: Capability,
    name: str = "Script",
    days: int | None = 30,
) -> tuple[ApiToken, str]:
    """A token of the member's, and its text."""
    with access.in_workspace(workspace.pk):
        return token_services.token_create(
            workspace=workspace,
            member=member,
            name=name,
            capabilities=[one.value for one in may],
            days=days,
            by=member,
        )


def make_collection(workspace: Workspace, name: str) -> Collection:
    with access.in_workspace(workspace.pk):
        return Collection.objects.create(workspace=workspace, name=name)


def make_document(
    workspace: Workspace,
    title: str,
    text: str,
    *,
    spans: Sequence[tuple[int, int]] | None = None,
    names: Mapping[str, str] | None = None,
    embedder: Embedder | None = None,
    collection: Collection | None = None,
    tags: Sequence[str] = (),
    media_type: str = "text/plain",
    dated: date | None = None,
) -> Document:
    """A document with text, chunks, words, and what else is asked for, without a language.

    Chunks are the paragraphs unless ``spans`` are given. ``names`` maps names that occur in the
    text to their entity type: each becomes an entity with a mention at every place. With an
    ``embedder`` the chunks get vectors.
    """
    with access.in_workspace(workspace.pk):
        document = Document.objects.create(
            workspace=workspace,
            title=title,
            name=f"{title}.txt",
            media_type=media_type,
            size=len(text.encode()),
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            collection=collection,
            tags=list(tags),
            dated=dated,
            state=DocumentState.READY,
        )
        version = DocumentVersion.objects.create(
            workspace=workspace, document=document, blob="none", text=text, parser="text"
        )
        chunks = _make_chunks(version, spans or paragraph_spans(text), title)
        if embedder is not None:
            embed_chunks(workspace, chunks, embedder)
        for name, kind in (names or {}).items():
            make_mentions(workspace, chunks, name, kind)
    return document


def paragraph_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the paragraphs, which blank lines divide."""
    cuts = [0, *(match.end() for match in re.finditer(r"\n\s*\n", text)), len(text)]
    spans = ((start, start + len(text[start:end].rstrip())) for start, end in pairwise(cuts))
    return [(start, end) for start, end in spans if end > start]


def chunks_of(document: Document) -> list[Chunk]:
    with access.in_workspace(document.workspace_id):
        return list(
            Chunk.objects.in_workspace(document.workspace_id)
            .filter(document=document)
            .select_related("document")
            .order_by("ordinal")
        )


def _make_chunks(
    version: DocumentVersion, spans: Sequence[tuple[int, int]], title: str
) -> list[Chunk]:
    chunks, postings = [], []
    for ordinal, (start, end) in enumerate(spans):
        text = version.text[start:end]
        counts = Counter(terms(f"{title}\n{text}"))
        chunk = Chunk(
            workspace_id=version.workspace_id,
            document_id=version.document_id,
            version=version,
            ordinal=ordinal,
            start=start,
            end=end,
            text=text,
            context=title,
            tokens=len(text) // 4 + 1,
            terms=counts.total(),
        )
        chunks.append(chunk)
        postings += [
            Posting(
                workspace_id=version.workspace_id,
                term=term,
                chunk=chunk,
                frequency=count,
                length=counts.total(),
            )
            for term, count in counts.items()
        ]
    Chunk.objects.bulk_create(chunks)
    Posting.objects.bulk_create(postings)
    return chunks


def embed_chunks(workspace: Workspace, chunks: Sequence[Chunk], embedder: Embedder) -> None:
    vectors = embedder.embed_passages([f"{chunk.context}\n{chunk.text}" for chunk in chunks])
    with access.in_workspace(workspace.pk):
        ChunkEmbedding.objects.bulk_create(
            ChunkEmbedding(
                workspace=workspace,
                chunk=chunk,
                fingerprint=embedder.fingerprint,
                vector=vector.tolist(),
            )
            for chunk, vector in zip(chunks, vectors, strict=True)
        )


def make_entity(
    workspace: Workspace, name: str, kind: str = "PERSON", *, aliases: Sequence[str] = ()
) -> Entity:
    """The entity of that name; the same one when asked twice."""
    with access.in_workspace(workspace.pk):
        found = Entity.objects.in_workspace(workspace).filter(key=normalise_name(name), sense=0)
        entity = found.first() or Entity.objects.create(
            workspace=workspace, key=normalise_name(name), name=name, type=kind
        )
        aliases_of = Alias.objects.in_workspace(workspace).filter(entity=entity)
        known = set(aliases_of.values_list("name", flat=True))
        Alias.objects.bulk_create(
            Alias(workspace=workspace, entity=entity, key=normalise_name(alias), name=alias)
            for alias in dict.fromkeys((name, *aliases))
            if alias not in known
        )
    return entity


def make_mentions(
    workspace: Workspace, chunks: Sequence[Chunk], name: str, kind: str = "PERSON"
) -> Entity:
    """The entity, mentioned wherever its name occurs in the chunks."""
    entity = make_entity(workspace, name, kind)
    with access.in_workspace(workspace.pk):
        mentions = [
            Mention(
                workspace=workspace,
                entity=entity,
                chunk=chunk,
                document_id=chunk.document_id,
                start=chunk.start + match.start(),
                end=chunk.start + match.end(),
                surface=name,
                type=kind,
                source="ner",
            )
            for chunk in chunks
            for match in re.finditer(re.escape(name), chunk.text)
        ]
        Mention.objects.bulk_create(mentions)
        entity.mention_count += len(mentions)
        entity.chunk_count += len({mention.chunk_id for mention in mentions})
        entity.save(update_fields=["mention_count", "chunk_count"])
    return entity


def make_relationship(source: Entity, target: Entity, chunk: Chunk, predicate: str) -> Relationship:
    """A relationship that the whole chunk is evidence of."""
    with access.in_workspace(source.workspace_id):
        relationship, _ = Relationship.objects.in_workspace(source.workspace_id).get_or_create(
            source=source, target=target, defaults={"workspace_id": source.workspace_id}
        )
        Evidence.objects.create(
            workspace_id=source.workspace_id,
            relationship=relationship,
            chunk=chunk,
            document_id=chunk.document_id,
            start=chunk.start,
            end=chunk.end,
            predicate=predicate,
            kind=Evidence.Kind.STATED,
        )
        relationship.weight += 1
        relationship.evidence_count += 1
        relationship.save(update_fields=["weight", "evidence_count"])
    return relationship


def make_report(
    workspace: Workspace, title: str, members: Sequence[Entity], chunks: Sequence[Chunk]
) -> CommunityReport:
    """A community of the entities and a report with one finding for each chunk."""
    with access.in_workspace(workspace.pk):
        community = Community.objects.create(workspace=workspace, level=0, size=len(members))
        CommunityMember.objects.bulk_create(
            CommunityMember(workspace=workspace, community=community, entity=entity)
            for entity in members
        )
        report = CommunityReport.objects.create(
            workspace=workspace, community=community, title=title, summary=title, rating=5
        )
        for ordinal, chunk in enumerate(chunks):
            finding = Finding.objects.create(
                workspace=workspace,
                report=report,
                part=Finding.Part.FINDING,
                ordinal=ordinal,
                summary=chunk.text[:80],
            )
            FindingEvidence.objects.create(
                workspace=workspace,
                finding=finding,
                report_id=finding.report_id,
                chunk=chunk,
                document_id=chunk.document_id,
                start=chunk.start,
                end=chunk.end,
            )
    return report


def make_snapshot(workspace: Workspace) -> None:
    """The walk's matrix of what is in the workspace now."""
    snapshot.renew(workspace.pk)
