"""Limits shared by all processes, and who did what in a workspace."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from kb_project.database.tenancy import tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('workspaces', '0008_stored_replies'),
    ]

    operations = [
        migrations.CreateModel(
            name='RateLimit',
            fields=[
                ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('full_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('action', models.CharField(max_length=40)),
                ('actor', models.CharField(max_length=200)),
                ('token', models.CharField(blank=True, default='', max_length=120)),
                ('via', models.CharField(max_length=12)),
                ('object_kind', models.CharField(blank=True, default='', max_length=40)),
                ('object_id', models.CharField(blank=True, default='', max_length=64)),
                ('object_name', models.CharField(blank=True, default='', max_length=300)),
                ('before', models.JSONField(default=dict)),
                ('after', models.JSONField(default=dict)),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'ordering': ['-created_at', '-id'],
                'indexes': [models.Index(fields=['workspace', '-created_at', '-id'], name='audit_latest')],
            },
        ),
        tenant_table("workspaces_auditevent"),
    ]
