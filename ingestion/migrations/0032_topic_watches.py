"""Who watches which topic, and what they have seen of it."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0031_topic_standings'),
        ('workspaces', '0018_stores_of_editions'),
    ]

    operations = [
        migrations.CreateModel(
            name='TopicWatch',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('place', models.UUIDField()),
                ('topic', models.UUIDField()),
                ('names', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), blank=True, default=list, size=None)),
                ('seen', models.JSONField(default=dict)),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('latest', models.JSONField(default=dict)),
                ('visited_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('signature', models.CharField(blank=True, default='', max_length=32)),
                ('moved_at', models.DateTimeField(blank=True, null=True)),
                ('mails', models.BooleanField(default=True)),
                ('mailed', models.CharField(blank=True, default='', max_length=32)),
                ('mailed_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('membership', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.membership')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'membership', 'topic'), name='topic_watch_once')],
            },
        ),
        tenant_table(
            "ingestion_topicwatch", Reference("membership_id", "workspaces_membership")
        ),
    ]
