"""Where checks of whole workspaces are written down, and the hour at which they run."""

import datetime
import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone

from kb_project.database.tenancy import tenant_table

NAME = "consistency"
# Of the server's time: few people work then, and a backup that follows is of what was checked.
HOUR = 3


def next_night():
    now = timezone.now()
    tonight = now.replace(hour=HOUR, minute=0, second=0, microsecond=0)
    return tonight if tonight > now else tonight + datetime.timedelta(days=1)


def schedule_checks(apps, schema_editor):
    schedules = apps.get_model("django_q", "Schedule").objects.using(schema_editor.connection.alias)
    schedules.update_or_create(
        name=NAME,
        defaults={
            "func": "ingestion.tasks.check_all",
            "schedule_type": "D",
            "repeats": -1,
            "cluster": "main",
            "next_run": next_night(),
        },
    )


def unschedule_checks(apps, schema_editor):
    schedules = apps.get_model("django_q", "Schedule").objects.using(schema_editor.connection.alias)
    schedules.filter(name=NAME).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0014_shelf'),
        ('django_q', '0018_task_success_index'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ConsistencyCheck',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done')], db_default='waiting', default='waiting', max_length=8)),
                ('is_deep', models.BooleanField(db_default=False, default=False)),
                ('repairs', models.BooleanField(db_default=False, default=False)),
                ('worker', models.CharField(blank=True, db_default='', default='', max_length=80)),
                ('done', models.PositiveIntegerField(db_default=0, default=0)),
                ('total', models.PositiveIntegerField(db_default=0, default=0)),
                ('drifts', models.JSONField(blank=True, db_default=[], default=list)),
                ('waiting', models.JSONField(blank=True, db_default=[], default=list)),
                ('repaired', models.JSONField(blank=True, db_default=[], default=list)),
                ('seconds', models.FloatField(db_default=0, default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'indexes': [models.Index(fields=['workspace', '-created_at'], name='check_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'done'), _negated=True), fields=('workspace',), name='check_one_unfinished')],
            },
        ),
        tenant_table('ingestion_consistencycheck'),
        migrations.RunPython(schedule_checks, unschedule_checks),
    ]
