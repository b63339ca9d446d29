"""Tables that the transaction itself has filled are looked at, too, before it ends.

That is when its foreign keys are checked: by reading whole tables, where the planner takes one for
as empty as it once was.
"""

from importlib import import_module

from django.db import migrations

BEFORE = import_module("ingestion.migrations.0008_statistics").CREATE
KNOWN = "s.n_mod_since_analyze"
OWN = (
    "pg_stat_get_xact_tuples_inserted(s.relid) + pg_stat_get_xact_tuples_updated(s.relid)"
    " + pg_stat_get_xact_tuples_deleted(s.relid)"
)
OR_REPLACE = ("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0059_workspaces_vouched_for")]

    operations = [
        migrations.RunSQL(
            BEFORE.replace(*OR_REPLACE).replace(KNOWN, f"{KNOWN} + {OWN}"),
            BEFORE.replace(*OR_REPLACE),
        ),
    ]
