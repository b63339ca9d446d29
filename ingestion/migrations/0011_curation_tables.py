import django.db.models.deletion

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from kb_project.database.at_once import AtOnce


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0010_corpus_version'),
        ('workspaces', '0007_answer_wishes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AtOnce([
            migrations.CreateModel(
                name='EntityRuling',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('sequence', models.BigIntegerField()),
                    ('undone_at', models.DateTimeField(blank=True, null=True)),
                    ('key', models.CharField(max_length=300)),
                    ('sense', models.PositiveSmallIntegerField(default=0)),
                    ('field', models.CharField(choices=[('created', 'Exists, whatever documents say'), ('deleted', 'Is nothing to be kept'), ('name', 'Name'), ('type', 'Type'), ('description', 'Description'), ('alias', 'Also goes by'), ('no_alias', 'Does not go by'), ('protected', 'Keeps what it says'), ('unprotected', 'May change with the documents'), ('confirmed', 'Looked at and found right')], max_length=12)),
                    ('value', models.TextField(blank=True)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                    ('event', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent')),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'key', 'sense'], name='entity_ruling_of'), models.Index(fields=['workspace', 'event'], name='entity_ruling_event')],
                },
            ),
            migrations.CreateModel(
                name='HistoryEvent',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('sequence', models.BigIntegerField()),
                    ('kind', models.CharField(choices=[('entity_created', 'Entity created'), ('entity_edited', 'Entity edited'), ('entity_deleted', 'Entity deleted'), ('entities_merged', 'Entities merged'), ('entity_split', 'Entity split'), ('mentions_moved', 'Mentions moved'), ('not_the_same', 'Said to be different'), ('relationship_created', 'Relationship created'), ('relationship_edited', 'Relationship edited'), ('relationship_deleted', 'Relationship deleted'), ('document_added', 'Document added'), ('document_edited', 'Document edited'), ('document_replaced', 'New version'), ('document_disabled', 'Document disabled'), ('document_enabled', 'Document enabled'), ('document_trashed', 'Moved to the trash'), ('document_restored', 'Restored from the trash'), ('document_deleted', 'Deleted for good'), ('decision_undone', "A model's decision taken back"), ('undo', 'Undone')], max_length=24)),
                    ('via', models.CharField(blank=True, db_default='', default='', max_length=12)),
                    ('request_id', models.CharField(blank=True, db_default='', default='', max_length=64)),
                    ('reason', models.TextField(blank=True)),
                    ('details', models.JSONField(default=dict)),
                    ('batch', models.UUIDField(blank=True, null=True)),
                    ('undone_at', models.DateTimeField(blank=True, null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('undoes', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent')),
                    ('undone_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'ordering': ['-sequence'],
                    'indexes': [models.Index(fields=['workspace', 'batch'], name='event_batch')],
                    'constraints': [models.UniqueConstraint(fields=('workspace', 'sequence'), name='event_sequence_once')],
                },
            ),
            migrations.CreateModel(
                name='HistorySubject',
                fields=[
                    ('pk', models.CompositePrimaryKey('workspace_id', 'event_id', 'subject_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                    ('event', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='subjects', to='ingestion.historyevent')),
                    ('subject_id', models.UUIDField()),
                    ('kind', models.CharField(choices=[('entity', 'Entity'), ('relationship', 'Relationship'), ('document', 'Document')], max_length=12)),
                    ('sequence', models.BigIntegerField()),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'subject_id', '-sequence'], name='subject_history')],
                },
            ),
            migrations.CreateModel(
                name='MentionPlacement',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('sequence', models.BigIntegerField()),
                    ('undone_at', models.DateTimeField(blank=True, null=True)),
                    ('key', models.CharField(max_length=300)),
                    ('own_key', models.CharField(blank=True, max_length=300)),
                    ('chunk_id', models.UUIDField(blank=True, null=True)),
                    ('offset', models.PositiveIntegerField(blank=True, null=True)),
                    ('target_key', models.CharField(max_length=300)),
                    ('target_sense', models.PositiveSmallIntegerField(default=0)),
                    ('document', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.document')),
                    ('event', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'key'], name='placement_of_key'), models.Index(fields=['workspace', 'target_key'], name='placement_target'), models.Index(fields=['workspace', 'event'], name='placement_event')],
                },
            ),
            migrations.CreateModel(
                name='RelationshipRuling',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('sequence', models.BigIntegerField()),
                    ('undone_at', models.DateTimeField(blank=True, null=True)),
                    ('source_key', models.CharField(max_length=300)),
                    ('source_sense', models.PositiveSmallIntegerField(default=0)),
                    ('target_key', models.CharField(max_length=300)),
                    ('target_sense', models.PositiveSmallIntegerField(default=0)),
                    ('field', models.CharField(choices=[('created', 'Exists, whatever documents say'), ('deleted', 'Is nothing to be kept'), ('description', 'Description'), ('keywords', 'Keywords, one a line')], max_length=12)),
                    ('value', models.TextField(blank=True)),
                    ('event', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'source_key', 'target_key'], name='relationship_ruling_of'), models.Index(fields=['workspace', 'event'], name='relationship_ruling_event')],
                },
            ),
            migrations.AddField(
                model_name='document',
                name='disabled_at',
                field=models.DateTimeField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='document',
                name='live_number',
                field=models.PositiveIntegerField(db_default=1, default=1),
            ),
            migrations.AddField(
                model_name='document',
                name='trashed_at',
                field=models.DateTimeField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='document',
                name='trashed_by',
                field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AddField(
                model_name='documentversion',
                name='added_by',
                field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AddField(
                model_name='documentversion',
                name='changes',
                field=models.JSONField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='documentversion',
                name='name',
                field=models.CharField(blank=True, db_default='', default='', max_length=500),
            ),
            migrations.AddField(
                model_name='documentversion',
                name='sha256',
                field=models.CharField(blank=True, db_default='', default='', max_length=64),
            ),
            migrations.AddField(
                model_name='documentversion',
                name='size',
                field=models.BigIntegerField(db_default=0, default=0, help_text='Bytes.'),
            ),
            migrations.AddField(
                model_name='entity',
                name='is_confirmed',
                field=models.BooleanField(db_default=False, default=False),
            ),
            migrations.AddField(
                model_name='entity',
                name='is_made',
                field=models.BooleanField(db_default=False, default=False),
            ),
            migrations.AddField(
                model_name='entity',
                name='is_protected',
                field=models.BooleanField(db_default=False, default=False),
            ),
            migrations.AddField(
                model_name='entity',
                name='proposed',
                field=models.JSONField(blank=True, db_default={}, default=dict),
            ),
            migrations.AddField(
                model_name='mention',
                name='key',
                field=models.CharField(blank=True, db_default='', default='', max_length=300),
            ),
            migrations.AddField(
                model_name='mention',
                name='label',
                field=models.CharField(blank=True, db_default='', default='', max_length=300),
            ),
            migrations.AddField(
                model_name='mention',
                name='own_key',
                field=models.CharField(blank=True, db_default='', default='', max_length=300),
            ),
            migrations.AddField(
                model_name='relationship',
                name='is_made',
                field=models.BooleanField(db_default=False, default=False),
            ),
            migrations.AddField(
                model_name='relationship',
                name='proposed',
                field=models.JSONField(blank=True, db_default={}, default=dict),
            ),
            migrations.AddField(
                model_name='resolutiondecision',
                name='keeps_right',
                field=models.BooleanField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='resolutiondecision',
                name='left_sense',
                field=models.PositiveSmallIntegerField(db_default=0, default=0),
            ),
            migrations.AddField(
                model_name='resolutiondecision',
                name='right_sense',
                field=models.PositiveSmallIntegerField(db_default=0, default=0),
            ),
            migrations.AddIndex(
                model_name='document',
                index=models.Index(condition=models.Q(('trashed_at__isnull', False)), fields=['workspace', 'trashed_at'], name='document_in_trash'),
            ),
            migrations.AddField(
                model_name='resolutiondecision',
                name='event',
                field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.historyevent'),
            ),
        ]),
    ]
