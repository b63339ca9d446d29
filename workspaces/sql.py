"""Hand-written SQL of who may see what."""

from __future__ import annotations

from typing import Final, LiteralString

# The third argument makes both settings end with the transaction: a pooled connection never
# carries one person's scope to the next.
SET_SCOPE: Final[LiteralString] = (
    "SELECT set_config('app.workspace_id', %(workspace)s, true),"
    " set_config('app.user_id', %(user)s, true)"
)
# For work that is safe to repeat: a commit that a crash forgets is only done again, since the log
# keeps the order of commits.
SET_SCOPE_OF_REPEATABLE_WORK: Final[LiteralString] = (
    "SELECT set_config('app.workspace_id', %(workspace)s, true),"
    " set_config('app.user_id', %(user)s, true),"
    " set_config('synchronous_commit', 'off', true)"
)
READ_SCOPE: Final[LiteralString] = (
    "SELECT coalesce(current_setting('app.workspace_id', true), ''),"
    " coalesce(current_setting('app.user_id', true), '')"
)
