"""The places that support a finding know its report: a question looks up hundreds of them."""

from django.db import migrations, models

from kb_project.database.at_once import AtOnce

# Of existing workspaces, one after another, since row-level security shows one at a time.
FILL = r"""
DO $fill$
DECLARE
    one uuid;
BEGIN
    FOR one IN SELECT id FROM workspaces_workspace LOOP
        PERFORM set_config('app.workspace_id', one::text, true);
        UPDATE ingestion_findingevidence AS e SET report_id = f.report_id
          FROM ingestion_finding AS f
         WHERE e.workspace_id = one AND f.workspace_id = one AND f.id = e.finding_id;
    END LOOP;
    PERFORM set_config('app.workspace_id', '', true);
END
$fill$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0057_common_terms'),
    ]

    operations = [
        AtOnce([
            migrations.AddField(
                model_name='findingevidence',
                name='report_id',
                field=models.UUIDField(null=True),
            ),
            migrations.RemoveIndex(model_name='findingevidence', name='finding_evidence_in_chunk'),
        ]),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        AtOnce([
            migrations.AlterField(
                model_name='findingevidence',
                name='report_id',
                field=models.UUIDField(),
            ),
            migrations.AddIndex(
                model_name='findingevidence',
                index=models.Index(fields=['workspace', 'chunk'], include=['report_id'], name='finding_evidence_in_chunk'),
            ),
        ]),
    ]
