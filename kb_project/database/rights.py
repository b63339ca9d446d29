"""Narrows what the application may do to a table, as reversible migration operations.

``preparedatabase`` grants the application reading and writing on every table of the owner; here a
migration revokes what it does not need. Roles are found in the table's own grants, since each
installation names them. Where one role does everything, nothing is revoked.
"""

from __future__ import annotations

from django.db import migrations

# The roles with rights on a table, but for its owner and PUBLIC.
_FOR_EACH_ROLE = """
DO $rights$
DECLARE
    role name;
BEGIN
    FOR role IN
        SELECT DISTINCT pg_get_userbyid(acl.grantee)
          FROM pg_class AS c, aclexplode(c.relacl) AS acl
         WHERE c.oid = 'public.{table}'::regclass AND acl.grantee NOT IN (0, c.relowner)
    LOOP
        {statements}
    END LOOP;
END
$rights$
"""


def narrow_rights(table: str, revoke: str, *, keep: str = "") -> migrations.RunSQL:
    """Revoke privileges on ``table``, such as ``"UPDATE, DELETE"``.

    ``keep`` is granted afterwards: a privilege on columns, such as ``"UPDATE (undone_at)"``.
    """
    changes = [f"REVOKE {revoke} ON public.{table} FROM"]
    if keep:
        changes.append(f"GRANT {keep} ON public.{table} TO")
    return migrations.RunSQL(
        _for_each_role(table, *changes),
        _for_each_role(table, f"GRANT {revoke} ON public.{table} TO"),
    )


def append_only(table: str, *, columns: tuple[str, ...] = ()) -> migrations.RunSQL:
    """Allow the application to add rows, and to change only ``columns`` of existing ones."""
    keep = f"UPDATE ({', '.join(columns)})" if columns else ""
    return narrow_rights(table, "UPDATE, DELETE", keep=keep)


def _for_each_role(table: str, *changes: str) -> str:
    statements = "\n        ".join(f"EXECUTE format('{change} %I', role);" for change in changes)
    return _FOR_EACH_ROLE.format(table=table, statements=statements)
