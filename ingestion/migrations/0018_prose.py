"""What in a text is no prose, and a vector for each of its sentences."""

import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import Reference, tenant_table

class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0017_suggestions'),
        ('workspaces', '0008_stored_replies'),
    ]

    operations = [
        AtOnce([
            migrations.AddField(
                model_name='chunk',
                name='regions',
                field=models.JSONField(db_default=[], default=list),
            ),
            migrations.AddField(
                model_name='documentversion',
                name='regions',
                field=models.JSONField(blank=True, db_default=[], default=list),
            ),
            migrations.AddField(
                model_name='shelvedchunk',
                name='regions',
                field=models.JSONField(db_default=[], default=list),
            ),
            migrations.CreateModel(
                name='SentenceVector',
                fields=[
                    ('pk', models.CompositePrimaryKey('workspace_id', 'chunk_id', 'start', 'fingerprint', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('start', models.PositiveIntegerField()),
                    ('end', models.PositiveIntegerField()),
                    ('fingerprint', models.CharField(max_length=80)),
                    ('vector', pgvector.django.halfvec.HalfVectorField()),
                    ('chunk', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.chunk')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
            ),
            migrations.CreateModel(
                name='ShelvedSentenceVector',
                fields=[
                    ('pk', models.CompositePrimaryKey('workspace_id', 'chunk_id', 'start', 'fingerprint', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('start', models.PositiveIntegerField()),
                    ('end', models.PositiveIntegerField()),
                    ('fingerprint', models.CharField(max_length=80)),
                    ('vector', pgvector.django.halfvec.HalfVectorField()),
                    ('chunk', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.shelvedchunk')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'abstract': False,
                },
            ),
        ]),
        tenant_table(
            'ingestion_sentencevector', Reference('chunk_id', 'ingestion_chunk'), has_id=False
        ),
        tenant_table(
            'ingestion_shelvedsentencevector',
            Reference('chunk_id', 'ingestion_shelvedchunk'),
            has_id=False,
        ),
    ]
