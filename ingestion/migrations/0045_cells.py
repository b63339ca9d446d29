"""Cells: in large workspaces, a question is compared with the vectors near it."""

import django.db.models.deletion
import pgvector.django.halfvec
import uuid
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import tenant_table

# Django knows the vectors' table, which is partitioned, but not this column: copies of its rows, in
# the archive and in editions, have no cell, and are compared with every question.
ADD_CELL = """
ALTER TABLE ingestion_chunkembedding ADD COLUMN cell integer;
CREATE INDEX vectors_of_cell ON ingestion_chunkembedding (workspace_id, fingerprint, cell);
ALTER TABLE ingestion_chunkembedding
  ADD CONSTRAINT ingestion_chunkembedding_cell_fk FOREIGN KEY (workspace_id, fingerprint, cell)
  REFERENCES ingestion_cell (workspace_id, fingerprint, number)
  ON DELETE SET NULL (cell) DEFERRABLE INITIALLY DEFERRED;
"""
DROP_CELL = "ALTER TABLE ingestion_chunkembedding DROP COLUMN cell;"


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0044_indexes_of_lists'),
        ('workspaces', '0021_answer_instructions'),
    ]

    operations = [
        AtOnce([
            migrations.CreateModel(
                name='Cell',
                fields=[
                    ('pk', models.CompositePrimaryKey('workspace_id', 'fingerprint', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('fingerprint', models.CharField(max_length=80)),
                    ('number', models.IntegerField()),
                    ('centre', pgvector.django.halfvec.HalfVectorField()),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
            ),
            migrations.CreateModel(
                name='CellIndex',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('fingerprint', models.CharField(max_length=80)),
                    ('vectors', models.PositiveIntegerField()),
                    ('probes', models.PositiveIntegerField(null=True)),
                    ('recall', models.FloatField(null=True)),
                    ('measured_at', models.DateTimeField(null=True)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('workspace', 'fingerprint'), name='cell_index_of_a_model')],
                },
            ),
        ]),
        tenant_table("ingestion_cell", has_id=False),
        tenant_table("ingestion_cellindex"),
        migrations.RunSQL(ADD_CELL, DROP_CELL),
    ]
