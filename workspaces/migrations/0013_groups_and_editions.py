"""Groups of members, and editions of a workspace for those who may not see all of it."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
import uuid
from django.db import migrations, models

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('workspaces', '0012_sealed_passwords'),
    ]

    operations = [
        migrations.CreateModel(
            name='Group',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120)),
            ],
        ),
        migrations.CreateModel(
            name='GroupMember',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
            ],
        ),
        migrations.AddField(
            model_name='workspace',
            name='audience',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, db_default=[], default=list, size=None),
        ),
        migrations.AddField(
            model_name='workspace',
            name='is_current',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddField(
            model_name='workspace',
            name='source',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='editions', to='workspaces.workspace'),
        ),
        migrations.AddConstraint(
            model_name='workspace',
            constraint=models.UniqueConstraint(condition=models.Q(('source__isnull', False)), fields=('source', 'audience'), name='edition_once'),
        ),
        migrations.AddField(
            model_name='group',
            name='workspace',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace'),
        ),
        migrations.AddField(
            model_name='groupmember',
            name='group',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='members', to='workspaces.group'),
        ),
        migrations.AddField(
            model_name='groupmember',
            name='membership',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='groups', to='workspaces.membership'),
        ),
        migrations.AddField(
            model_name='groupmember',
            name='workspace',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace'),
        ),
        migrations.AddConstraint(
            model_name='group',
            constraint=models.UniqueConstraint(models.F('workspace'), django.db.models.functions.text.Lower('name'), name='group_name_once'),
        ),
        migrations.AddConstraint(
            model_name='groupmember',
            constraint=models.UniqueConstraint(fields=('workspace', 'group', 'membership'), name='group_member_once'),
        ),
        tenant_table("workspaces_group"),
        tenant_table(
            "workspaces_groupmember",
            Reference("group_id", "workspaces_group"),
            Reference("membership_id", "workspaces_membership"),
        ),
    ]
