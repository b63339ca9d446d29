"""Cells that hold many vectors are split: with the next change, those of before are made anew."""

from django.db import migrations

# As if there had been no vectors when they were made; until then, searches read them as before.
# One workspace after another, since row-level security shows one at a time.
OUTGROWN = r"""
DO $outgrown$
DECLARE
    one uuid;
BEGIN
    FOR one IN SELECT id FROM workspaces_workspace LOOP
        PERFORM set_config('app.workspace_id', one::text, true);
        UPDATE ingestion_cellindex SET vectors = 0 WHERE workspace_id = one;
    END LOOP;
    PERFORM set_config('app.workspace_id', '', true);
END
$outgrown$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0055_evidence_weighed'),
    ]

    operations = [migrations.RunSQL(OUTGROWN, migrations.RunSQL.noop)]
