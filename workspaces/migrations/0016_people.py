"""Invitations, exports, profiles, and what a workspace's owners decide about it."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import tenant_table

class Migration(migrations.Migration):

    dependencies = [
        ('workspaces', '0015_model_limits'),
    ]

    operations = [
        AtOnce([
            migrations.CreateModel(
                name='Invitation',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('email', models.EmailField(blank=True, max_length=254)),
                    ('role', models.CharField(choices=[('viewer', 'Viewer'), ('editor', 'Editor'), ('curator', 'Curator'), ('admin', 'Admin'), ('owner', 'Owner')], max_length=20)),
                    ('token_hash', models.CharField(max_length=64)),
                    ('is_reusable', models.BooleanField(default=False)),
                    ('state', models.CharField(choices=[('open', 'Open'), ('accepted', 'Accepted'), ('declined', 'Declined'), ('revoked', 'Revoked')], default='open', max_length=12)),
                    ('uses', models.PositiveIntegerField(default=0)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField()),
                ],
            ),
            migrations.CreateModel(
                name='WorkspaceExport',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('state', models.CharField(choices=[('waiting', 'Being prepared'), ('ready', 'Ready'), ('failed', 'Failed')], default='waiting', max_length=12)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('started_at', models.DateTimeField(null=True)),
                    ('finished_at', models.DateTimeField(null=True)),
                    ('size', models.BigIntegerField(default=0)),
                    ('problem', models.JSONField(null=True)),
                ],
            ),
            migrations.AddField(
                model_name='user',
                name='language',
                field=models.CharField(choices=[('en', 'English')], default='en', max_length=8),
            ),
            migrations.AddField(
                model_name='user',
                name='time_zone',
                field=models.CharField(blank=True, default='', max_length=64),
            ),
            migrations.AddField(
                model_name='workspace',
                name='document_language',
                field=models.CharField(default='en', max_length=8),
            ),
            migrations.AddField(
                model_name='workspace',
                name='editors_delete',
                field=models.BooleanField(default=True),
            ),
            migrations.AddField(
                model_name='workspace',
                name='editors_invite',
                field=models.BooleanField(default=False),
            ),
            migrations.AddField(
                model_name='workspace',
                name='former_slugs',
                field=django.contrib.postgres.fields.ArrayField(base_field=models.SlugField(max_length=60), blank=True, default=list, size=None),
            ),
            migrations.AddField(
                model_name='workspace',
                name='purge_at',
                field=models.DateTimeField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='workspace',
                name='viewers_export',
                field=models.BooleanField(default=True),
            ),
            migrations.AddIndex(
                model_name='workspace',
                index=django.contrib.postgres.indexes.GinIndex(fields=['former_slugs'], name='workspace_former_slugs'),
            ),
        ]),
        AtOnce([
            migrations.AddField(
                model_name='invitation',
                name='created_by',
                field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AddField(
                model_name='invitation',
                name='workspace',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace'),
            ),
            migrations.AddField(
                model_name='workspaceexport',
                name='requested_by',
                field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AddField(
                model_name='workspaceexport',
                name='workspace',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace'),
            ),
            migrations.AddIndex(
                model_name='invitation',
                index=models.Index(fields=['workspace', 'token_hash'], name='invitation_token'),
            ),
            migrations.AddConstraint(
                model_name='invitation',
                constraint=models.UniqueConstraint(condition=models.Q(('state', 'open'), models.Q(('email', ''), _negated=True)), fields=('workspace', 'email'), name='invitation_once'),
            ),
            migrations.AddIndex(
                model_name='workspaceexport',
                index=models.Index(fields=['workspace', '-created_at'], name='export_latest'),
            ),
        ]),
        tenant_table("workspaces_invitation"),
        tenant_table("workspaces_workspaceexport"),
    ]
