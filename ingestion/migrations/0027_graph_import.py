"""Imports of graphs, and the event that each becomes."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0026_entity_positions'),
        ('workspaces', '0017_accounts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='historyevent',
            name='kind',
            field=models.CharField(choices=[('entity_created', 'Entity created'), ('entity_edited', 'Entity edited'), ('entity_deleted', 'Entity deleted'), ('entities_merged', 'Entities merged'), ('entity_split', 'Entity split'), ('mentions_moved', 'Mentions moved'), ('not_the_same', 'Said to be different'), ('relationship_created', 'Relationship created'), ('relationship_edited', 'Relationship edited'), ('relationship_deleted', 'Relationship deleted'), ('graph_imported', 'Graph imported'), ('document_added', 'Document added'), ('document_edited', 'Document edited'), ('document_replaced', 'New version'), ('document_disabled', 'Document disabled'), ('document_enabled', 'Document enabled'), ('document_trashed', 'Moved to the trash'), ('document_restored', 'Restored from the trash'), ('document_deleted', 'Deleted for good'), ('document_moved', 'Moved to a collection'), ('collection_created', 'Collection created'), ('collection_renamed', 'Collection renamed'), ('collection_deleted', 'Collection deleted'), ('decision_undone', "A model's decision undone"), ('undo', 'Undone'), ('copied', 'Copied into an edition')], max_length=24),
        ),
        migrations.CreateModel(
            name='GraphImport',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('format', models.CharField(max_length=12)),
                ('payload', models.BinaryField()),
                ('state', models.CharField(choices=[('preview', 'Preview'), ('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], db_default='preview', default='preview', max_length=8)),
                ('choices', models.JSONField(blank=True, db_default={}, default=dict)),
                ('reason', models.TextField(blank=True, db_default='', default='')),
                ('via', models.CharField(blank=True, db_default='', default='', max_length=12)),
                ('counts', models.JSONField(blank=True, db_default={}, default=dict)),
                ('problem', models.JSONField(blank=True, null=True)),
                ('worker', models.CharField(blank=True, db_default='', default='', max_length=80)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('event', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent')),
                ('requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'indexes': [models.Index(fields=['workspace', '-created_at'], name='graph_import_newest')],
            },
        ),
        tenant_table(
            "ingestion_graphimport", Reference("event_id", "ingestion_historyevent")
        ),
    ]
