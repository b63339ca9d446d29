"""Who stands out in topics, what joins topics, and documents that stand alone."""

import django.db.models.deletion
import uuid
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0030_conflicts'),
        ('workspaces', '0018_stores_of_editions'),
    ]

    operations = [
        AtOnce([
            migrations.CreateModel(
                name='LoneDocument',
                fields=[
                    ('pk', models.CompositePrimaryKey('workspace_id', 'document_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('names', models.PositiveIntegerField()),
                    ('document', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='alone', to='ingestion.document')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
            ),
            migrations.CreateModel(
                name='StructureState',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('digest', models.CharField(max_length=64)),
                    ('seconds', models.FloatField()),
                    ('computed_at', models.DateTimeField(auto_now=True)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('workspace',), name='structure_state_once')],
                },
            ),
            migrations.CreateModel(
                name='TopicBridge',
                fields=[
                    ('pk', models.CompositePrimaryKey('workspace_id', 'entity_id', 'other_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('facts', models.PositiveIntegerField()),
                    ('of_facts', models.PositiveIntegerField()),
                    ('community', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='bridges', to='ingestion.community')),
                    ('entity', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='bridges', to='ingestion.entity')),
                    ('other', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='bridges_from', to='ingestion.community')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'community'], name='bridge_from_topic'), models.Index(fields=['workspace', 'other'], name='bridge_to_topic')],
                },
            ),
            migrations.CreateModel(
                name='TopicStanding',
                fields=[
                    ('pk', models.CompositePrimaryKey('workspace_id', 'community_id', 'kind', 'entity_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('kind', models.CharField(choices=[('central', 'Most central'), ('documented', 'Most is said about')], max_length=12)),
                    ('place', models.PositiveIntegerField()),
                    ('facts', models.PositiveIntegerField()),
                    ('passages', models.PositiveIntegerField()),
                    ('documents', models.PositiveIntegerField()),
                    ('community', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='standings', to='ingestion.community')),
                    ('entity', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='standings', to='ingestion.entity')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'entity'], name='standing_of_entity')],
                },
            ),
        ]),
        tenant_table(
            'ingestion_topicstanding',
            Reference('community_id', 'ingestion_community'),
            Reference('entity_id', 'ingestion_entity'),
            has_id=False,
        ),
        tenant_table(
            'ingestion_topicbridge',
            Reference('entity_id', 'ingestion_entity'),
            Reference('community_id', 'ingestion_community'),
            Reference('other_id', 'ingestion_community'),
            has_id=False,
        ),
        tenant_table(
            'ingestion_lonedocument', Reference('document_id', 'ingestion_document'), has_id=False
        ),
        tenant_table('ingestion_structurestate'),
    ]
