"""Answers are jobs with events; conversations; question sets and runs over them."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from kb_project.database.at_once import AtOnce


class Migration(migrations.Migration):

    dependencies = [
        ('retrieval', '0002_tenants'),
        ('workspaces', '0005_model_choice'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AtOnce([
            migrations.CreateModel(
                name='Conversation',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('title', models.CharField(max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'asked_by', '-updated_at'], name='conversation_new')],
                },
            ),
            migrations.CreateModel(
                name='EvaluationResult',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('mode', models.CharField(max_length=20)),
                    ('metrics', models.JSONField(default=dict)),
                    ('answer', models.TextField(blank=True)),
                    ('passages', models.JSONField(default=list)),
                    ('claims', models.JSONField(default=dict, help_text='Claims of both answers and what each entails.')),
                    ('problem', models.JSONField(blank=True, null=True)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                    ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='results', to='retrieval.evaluationrun')),
                    ('question', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='results', to='retrieval.setquestion')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('workspace', 'run', 'question', 'mode'), name='result_once')],
                },
            ),
            migrations.CreateModel(
                name='EvaluationRun',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('modes', models.JSONField(default=list)),
                    ('ks', models.JSONField(default=list)),
                    ('answers', models.BooleanField(default=False)),
                    ('judged_by', models.CharField(blank=True, max_length=120)),
                    ('state', models.CharField(choices=[('queued', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('stopped', 'Stopped')], default='queued', max_length=10)),
                    ('done', models.PositiveIntegerField(default=0)),
                    ('total', models.PositiveIntegerField(default=0)),
                    ('wants_stop', models.BooleanField(default=False)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('summary', models.JSONField(default=dict)),
                    ('problem', models.JSONField(blank=True, null=True)),
                    ('corpus', models.CharField(blank=True, help_text='State of the documents.', max_length=64)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ('requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                    ('question_set', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='runs', to='retrieval.questionset')),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'question_set', '-created_at'], name='run_of_set_newest')],
                },
            ),
            migrations.CreateModel(
                name='QuestionSet',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('name', models.CharField(max_length=120)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('added_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='question_set_once')],
                },
            ),
            migrations.CreateModel(
                name='SetQuestion',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('ordinal', models.PositiveIntegerField()),
                    ('text', models.TextField()),
                    ('answer', models.TextField(blank=True)),
                    ('evidence', models.JSONField(default=list)),
                    ('state', models.CharField(choices=[('proposed', 'Proposed'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], default='accepted', max_length=10)),
                    ('origin', models.CharField(default='person', help_text='person, file, documents', max_length=20)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('question_set', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='questions', to='retrieval.questionset')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'ordering': ['ordinal'],
                    'indexes': [models.Index(fields=['workspace', 'question_set'], name='question_of_set')],
                },
            ),
            migrations.AddField(
                model_name='answer',
                name='cache_key',
                field=models.CharField(blank=True, db_default='', default='', max_length=64),
            ),
            migrations.AddField(
                model_name='answer',
                name='finished_at',
                field=models.DateTimeField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='answer',
                name='follow_ups',
                field=models.JSONField(db_default=[], default=list),
            ),
            migrations.AddField(
                model_name='answer',
                name='lease_until',
                field=models.DateTimeField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='answer',
                name='mode',
                field=models.CharField(blank=True, db_default='', default='', max_length=20),
            ),
            migrations.AddField(
                model_name='answer',
                name='problem',
                field=models.JSONField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='answer',
                name='state',
                field=models.CharField(choices=[('queued', 'Waiting'), ('running', 'Being answered'), ('done', 'Answered'), ('failed', 'Could not be answered'), ('stopped', 'Stopped')], db_default='done', default='done', max_length=10),
            ),
            migrations.AddField(
                model_name='answer',
                name='wants_stop',
                field=models.BooleanField(db_default=False, default=False),
            ),
            migrations.AddField(
                model_name='answer',
                name='worker',
                field=models.CharField(blank=True, db_default='', default='', max_length=100),
            ),
            migrations.AddField(
                model_name='citation',
                name='spans',
                field=models.JSONField(db_default=[], default=list),
            ),
            migrations.AddField(
                model_name='question',
                name='standalone',
                field=models.TextField(blank=True, db_default='', default=''),
            ),
            migrations.AlterField(
                model_name='answer',
                name='is_supported',
                field=models.BooleanField(default=False),
            ),
            migrations.AlterField(
                model_name='answer',
                name='written_by',
                field=models.CharField(default='extractive', max_length=120),
            ),
            migrations.AddIndex(
                model_name='answer',
                index=models.Index(condition=models.Q(('state', 'done'), models.Q(('cache_key', ''), _negated=True)), fields=['workspace', 'cache_key', '-created_at'], name='answer_cached'),
            ),
            migrations.AddIndex(
                model_name='answer',
                index=models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['workspace', 'state'], name='answer_unfinished'),
            ),
            migrations.AddField(
                model_name='question',
                name='conversation',
                field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='questions', to='retrieval.conversation'),
            ),
            migrations.AddIndex(
                model_name='question',
                index=models.Index(fields=['workspace', 'conversation', 'created_at'], name='question_in_conversation'),
            ),
            migrations.CreateModel(
                name='AnswerEvent',
                fields=[
                    ('pk', models.CompositePrimaryKey('workspace_id', 'answer_id', 'sequence', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('answer', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='retrieval.answer')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                    ('sequence', models.PositiveIntegerField()),
                    ('kind', models.CharField(max_length=20)),
                    ('payload', models.JSONField(default=dict)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['sequence'],
                },
            ),
        ]),
    ]
