"""Reports: describe each topic in cited sentences, from the smallest topics up.

In: communities marked as changed, with the evidence of their entities, relationships and
sub-communities.  Out: one report per community: title, summary, rating with its reason, findings,
and for every sentence the chunks and spans it rests on.
Safe to repeat: a batch of communities is written in one transaction, which clears their marks. What
was finished before an interruption is not written again, nor is a report whose input is the same as
that of the current one (``digests``). Deeper levels come first, since a topic also draws on its
sub-topics' findings. A chat model gets one call per community, a whole level in parallel; without
one, reports are sentences of the documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final, LiteralString
from uuid import UUID

from ingestion.models import IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.reports import asking, digests, extractive, naming, rows, saving
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

BATCH: Final = 200

# A topic quotes its sub-topics, so a change below is a change of everything above it.
MARK_ANCESTORS: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT parent_id AS id FROM ingestion_community
    WHERE workspace_id = %(workspace)s AND is_changed AND parent_id IS NOT NULL
    UNION
    SELECT community.parent_id FROM ingestion_community AS community
    JOIN above ON above.id = community.id
    WHERE community.workspace_id = %(workspace)s AND community.parent_id IS NOT NULL
)
UPDATE ingestion_community SET is_changed = true
WHERE workspace_id = %(workspace)s AND NOT is_changed AND id IN (SELECT id FROM above)
"""

# A title says what sets a topic apart, so it may change when another topic does.
MARK_RENAMED: Final[LiteralString] = """
UPDATE ingestion_community AS community SET is_changed = true
FROM ingestion_communityreport AS report
JOIN unnest(%(ids)s::uuid[], %(titles)s::text[]) AS named (id, title)
  ON named.id = report.community_id
WHERE report.workspace_id = %(workspace)s AND report.written_by = 'extractive'
  AND report.title <> named.title
  AND community.workspace_id = %(workspace)s AND community.id = report.community_id
"""

CHANGED: Final[LiteralString] = """
SELECT level, id FROM ingestion_community
WHERE workspace_id = %(workspace)s AND is_changed
ORDER BY level DESC, id
"""


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id):
        titles = naming.named(workspace_id)
        values = {"workspace": workspace_id, "ids": list(titles), "titles": list(titles.values())}
        run_sql(MARK_RENAMED, values)
        run_sql(MARK_ANCESTORS, {"workspace": workspace_id})
        changed = [(level, id_) for level, id_ in run_sql(CHANGED, {"workspace": workspace_id})]
    done = written = 0
    for batch in batches(changed, BATCH):
        if ports.chat is None:
            written += _quote(workspace_id, batch, titles)
        else:
            asker = asking.Asker(workspace_id, ports.chat, ports.options, titles)
            written += asker.write(batch, partial(_tell, progress, done, len(changed)))
        done += len(batch)
        progress(done, len(changed))
    return StageOutcome(written=written)


def _tell(progress: Progress, before: int, total: int, said: int) -> None:
    progress(before + said, total)


def batches(changed: Sequence[tuple[int, UUID]], size: int) -> Iterator[list[UUID]]:
    """Ids in batches that never mix levels, in the order given."""
    for _, level in groupby(changed, key=lambda pair: pair[0]):
        ids = [id_ for _, id_ in level]
        yield from (ids[start : start + size] for start in range(0, len(ids), size))


def _quote(workspace_id: UUID, ids: Sequence[UUID], titles: Mapping[UUID, str]) -> int:
    """Write the extractive reports of communities of one level; return how many."""
    with access.in_workspace(workspace_id), bulk_plans():
        seen = saving.last_change(workspace_id)
        topics = rows.topics(workspace_id, ids, titles)
        made_from = {id_: digests.of_topic(topic) for id_, topic in topics.items()}
        kept = saving.keep(workspace_id, made_from, seen)
        reports = {
            id_: saving.quoted(extractive.write(topic), made_from[id_])
            for id_, topic in topics.items()
            if id_ not in kept
        }
        return saving.replace_reports(workspace_id, reports, seen)
