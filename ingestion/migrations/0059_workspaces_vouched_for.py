"""A row that references another one of its workspace has no constraint on the workspace alone.

The one over both columns vouches for it, down to a row that has one: a third of all checks of what
an ingest writes were of these.
"""

import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.at_once import AtOnce

PARTS = (
    *('alias', 'archivedchunk', 'archivedextraction', 'archivedposting', 'archivedsentencevector'),
    *('archivedvector', 'chunk', 'chunkextraction', 'claim', 'communitymember', 'communityreport'),
    *('conflict', 'conflictside', 'documentversion', 'entityposition', 'evidence', 'finding'),
    *('findingevidence', 'fragment', 'hiddenname', 'historysubject', 'lonedocument', 'mention'),
    *('mergesuggestion', 'posting', 'relationship', 'sentencevector', 'stagerun', 'summaryedge'),
    *('topicbridge', 'topicstanding'),
)
WORKSPACE = models.ForeignKey(
    db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING,
    related_name='+', to='workspaces.workspace',
)
# Django does not manage a table that is partitioned.
DROP = 'ALTER TABLE ingestion_chunkembedding DROP CONSTRAINT ingestion_chunkembedding_workspace_id_fkey;'
ADD = (
    'ALTER TABLE ingestion_chunkembedding ADD CONSTRAINT ingestion_chunkembedding_workspace_id_fkey'
    ' FOREIGN KEY (workspace_id) REFERENCES workspaces_workspace (id) DEFERRABLE INITIALLY DEFERRED;'
)


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0058_reports_of_evidence'),
        ('workspaces', '0021_answer_instructions'),
    ]

    operations = [
        AtOnce([
            migrations.AlterField(model_name=part, name='workspace', field=WORKSPACE.clone())
            for part in PARTS
        ]),
        migrations.RunSQL(DROP, ADD),
    ]
