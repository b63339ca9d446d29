"""Sources that disagree, and what people decided about them."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0029_periods'),
        ('workspaces', '0018_stores_of_editions'),
    ]

    operations = [
        AtOnce([
            migrations.AlterField(
                model_name='historyevent',
                name='kind',
                field=models.CharField(choices=[('entity_created', 'Entity created'), ('entity_edited', 'Entity edited'), ('entity_deleted', 'Entity deleted'), ('entities_merged', 'Entities merged'), ('entity_split', 'Entity split'), ('mentions_moved', 'Mentions moved'), ('not_the_same', 'Said to be different'), ('relationship_created', 'Relationship created'), ('relationship_edited', 'Relationship edited'), ('relationship_deleted', 'Relationship deleted'), ('graph_imported', 'Graph imported'), ('claim_edited', 'Claim edited'), ('claim_deleted', 'Claim deleted'), ('conflict_decided', 'Conflict decided'), ('document_added', 'Document added'), ('document_edited', 'Document edited'), ('document_replaced', 'New version'), ('document_disabled', 'Document disabled'), ('document_enabled', 'Document enabled'), ('document_trashed', 'Moved to the trash'), ('document_restored', 'Restored from the trash'), ('document_deleted', 'Deleted for good'), ('document_moved', 'Moved to a collection'), ('collection_created', 'Collection created'), ('collection_renamed', 'Collection renamed'), ('collection_deleted', 'Collection deleted'), ('decision_undone', "A model's decision undone"), ('undo', 'Undone'), ('copied', 'Copied into an edition')], max_length=24),
            ),
            migrations.AlterField(
                model_name='historysubject',
                name='kind',
                field=models.CharField(choices=[('entity', 'Entity'), ('relationship', 'Relationship'), ('claim', 'Claim'), ('conflict', 'Conflict'), ('document', 'Document'), ('collection', 'Collection')], max_length=12),
            ),
            migrations.CreateModel(
                name='Conflict',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('kind', models.CharField(choices=[('values', 'Different values'), ('claim', 'Held true and false'), ('note', 'Contradicting statements')], max_length=8)),
                    ('about', models.CharField(max_length=32)),
                    ('topic', models.CharField(max_length=300)),
                    ('state', models.CharField(choices=[('open', 'Open'), ('decided', 'Decided'), ('left', 'Left open')], default='open', max_length=8)),
                    ('holds', models.CharField(blank=True, db_default='', default='', max_length=400)),
                    ('found_at', models.DateTimeField(auto_now_add=True)),
                    ('event', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent')),
                    ('subject', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='disputes', to='ingestion.entity')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
            ),
            migrations.CreateModel(
                name='ConflictRuling',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('sequence', models.BigIntegerField()),
                    ('undone_at', models.DateTimeField(blank=True, null=True)),
                    ('key', models.CharField(max_length=300)),
                    ('sense', models.PositiveSmallIntegerField(default=0)),
                    ('about', models.CharField(max_length=32)),
                    ('verdict', models.CharField(choices=[('holds', 'One source is right'), ('both', 'All of them are right'), ('left', 'Left open')], max_length=8)),
                    ('holds', models.CharField(blank=True, max_length=400)),
                    ('known', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=400), default=list, size=None)),
                    ('event', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
            ),
            migrations.CreateModel(
                name='ConflictSide',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('ordinal', models.PositiveSmallIntegerField()),
                    ('start', models.PositiveIntegerField()),
                    ('end', models.PositiveIntegerField()),
                    ('value', models.CharField(max_length=300)),
                    ('key', models.CharField(max_length=400)),
                    ('chunk', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.chunk')),
                    ('conflict', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='sides', to='ingestion.conflict')),
                    ('document', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.document')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
            ),
        ]),
        AtOnce([
            migrations.AddIndex(
                model_name='conflict',
                index=models.Index(fields=['workspace', 'state', '-found_at'], name='conflict_latest'),
            ),
            migrations.AddConstraint(
                model_name='conflict',
                constraint=models.UniqueConstraint(fields=('workspace', 'subject', 'about'), name='conflict_once'),
            ),
            migrations.AddIndex(
                model_name='conflictruling',
                index=models.Index(fields=['workspace', 'key', 'sense'], name='conflict_ruling_of'),
            ),
            migrations.AddIndex(
                model_name='conflictruling',
                index=models.Index(fields=['workspace', 'event'], name='conflict_ruling_event'),
            ),
            migrations.AddIndex(
                model_name='conflictside',
                index=models.Index(fields=['workspace', 'conflict'], name='side_of_conflict'),
            ),
            migrations.AddIndex(
                model_name='conflictside',
                index=models.Index(fields=['workspace', 'chunk'], name='side_in_chunk'),
            ),
            migrations.AddIndex(
                model_name='conflictside',
                index=models.Index(fields=['workspace', 'document'], name='side_in_document'),
            ),
        ]),
        tenant_table(
            'ingestion_conflict',
            Reference('subject_id', 'ingestion_entity'),
            Reference('event_id', 'ingestion_historyevent', 'SET NULL'),
        ),
        tenant_table(
            'ingestion_conflictside',
            Reference('conflict_id', 'ingestion_conflict'),
            Reference('chunk_id', 'ingestion_chunk'),
            Reference('document_id', 'ingestion_document'),
        ),
        tenant_table('ingestion_conflictruling', Reference('event_id', 'ingestion_historyevent')),
    ]
