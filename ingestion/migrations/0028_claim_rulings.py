"""People's decisions about claims, and what their documents give instead."""

import django.db.models.deletion
import uuid
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0027_graph_import'),
        ('workspaces', '0017_accounts'),
    ]

    operations = [
        AtOnce([
            migrations.AddField(
                model_name='claim',
                name='proposed',
                field=models.JSONField(blank=True, db_default={}, default=dict),
            ),
            migrations.AlterField(
                model_name='historyevent',
                name='kind',
                field=models.CharField(choices=[('entity_created', 'Entity created'), ('entity_edited', 'Entity edited'), ('entity_deleted', 'Entity deleted'), ('entities_merged', 'Entities merged'), ('entity_split', 'Entity split'), ('mentions_moved', 'Mentions moved'), ('not_the_same', 'Said to be different'), ('relationship_created', 'Relationship created'), ('relationship_edited', 'Relationship edited'), ('relationship_deleted', 'Relationship deleted'), ('graph_imported', 'Graph imported'), ('claim_edited', 'Claim edited'), ('claim_deleted', 'Claim deleted'), ('document_added', 'Document added'), ('document_edited', 'Document edited'), ('document_replaced', 'New version'), ('document_disabled', 'Document disabled'), ('document_enabled', 'Document enabled'), ('document_trashed', 'Moved to the trash'), ('document_restored', 'Restored from the trash'), ('document_deleted', 'Deleted for good'), ('document_moved', 'Moved to a collection'), ('collection_created', 'Collection created'), ('collection_renamed', 'Collection renamed'), ('collection_deleted', 'Collection deleted'), ('decision_undone', "A model's decision undone"), ('undo', 'Undone'), ('copied', 'Copied into an edition')], max_length=24),
            ),
            migrations.AlterField(
                model_name='historysubject',
                name='kind',
                field=models.CharField(choices=[('entity', 'Entity'), ('relationship', 'Relationship'), ('claim', 'Claim'), ('document', 'Document'), ('collection', 'Collection')], max_length=12),
            ),
            migrations.CreateModel(
                name='ClaimRuling',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('sequence', models.BigIntegerField()),
                    ('undone_at', models.DateTimeField(blank=True, null=True)),
                    ('key', models.CharField(max_length=300)),
                    ('quote', models.CharField(max_length=32)),
                    ('words', models.CharField(max_length=32)),
                    ('field', models.CharField(choices=[('deleted', 'Is nothing to be kept'), ('description', 'Description'), ('type', 'Type'), ('status', 'Status'), ('period_start', 'Holds from'), ('period_end', 'Holds until')], max_length=12)),
                    ('value', models.TextField(blank=True)),
                    ('document', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.document')),
                    ('event', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'document'], name='claim_ruling_in_document'), models.Index(fields=['workspace', 'event'], name='claim_ruling_event')],
                },
            ),
        ]),
        tenant_table(
            "ingestion_claimruling",
            Reference("event_id", "ingestion_historyevent"),
            Reference("document_id", "ingestion_document"),
        ),
    ]
