"""Statements of the slots that all workers of an installation share.

A slot is the advisory lock (line, number), a waiter's flag the shared lock (line, flag). Locks
belong to a connection: what a crashed process held is free at once.
"""

from __future__ import annotations

from typing import Final, LiteralString

# CASE fixes the order: the lock function must not be called for a slot that is held already, since
# a session may take its own lock twice. One-time filter and LIMIT stop before a lock too many.
TAKE_SLOTS: Final[LiteralString] = """
select slot
  from generate_series(0, %(count)s::int - 1) as slot
 where not exists (
        select from pg_locks
         where locktype = 'advisory' and granted and classid = %(line)s::bigint::oid
           and objid between 1000000 and %(flag)s::bigint - 1
           and objsubid = 2
           and database = (select oid from pg_database where datname = current_database()))
   and case when slot = any(%(mine)s::int[]) then false
            else pg_try_advisory_lock(%(line)s::int, slot) end
 limit %(wanted)s::int
"""

IS_OUTRANKED: Final[LiteralString] = """
select exists (
        select from pg_locks
         where locktype = 'advisory' and granted and classid = %(line)s::bigint::oid
           and objid between 1000000 and %(flag)s::bigint - 1
           and objsubid = 2
           and database = (select oid from pg_database where datname = current_database()))
"""

FREE_SLOTS: Final[LiteralString] = """
select pg_advisory_unlock(%(line)s::int, slot) from unnest(%(slots)s::int[]) as slot
"""

RAISE_FLAG: Final[LiteralString] = "select pg_advisory_lock_shared(%(line)s::int, %(flag)s::int)"
LOWER_FLAG: Final[LiteralString] = "select pg_advisory_unlock_shared(%(line)s::int, %(flag)s::int)"
