"""Tokens that programs sign in to the API with; they are deleted with their membership."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.db import migrations, models

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('workspaces', '0013_groups_and_editions'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80)),
                ('prefix', models.CharField(max_length=12)),
                ('digest', models.CharField(max_length=64)),
                ('capabilities', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'read documents and ask'), ('edit', 'add and change documents'), ('curate', 'merge, split and correct entities'), ('administer', 'manage members and settings'), ('own', 'delete the workspace and name owners')], max_length=20), size=None)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('membership', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.membership')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'ordering': ['-created_at'],
                'indexes': [models.Index(fields=['workspace', 'membership'], name='api_token_of_member')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'prefix'), name='api_token_prefix_once')],
            },
        ),
        tenant_table("workspaces_apitoken", Reference("membership_id", "workspaces_membership")),
    ]
