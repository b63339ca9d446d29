"""Who may use the installation's model, and what it costs in a month."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def allow_those_that_use_it(apps, schema_editor):
    """Workspaces that use the installation's model now keep it; new ones ask the operator."""
    if not (settings.MODEL_ENDPOINT and settings.MODEL_NAME):
        return
    workspaces = apps.get_model("workspaces", "Workspace").objects
    for workspace_id in workspaces.values_list("pk", flat=True):
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("SELECT set_config('app.workspace_id', %s, true)", [str(workspace_id)])
        allow_if_it_uses_it(apps, workspace_id)
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.workspace_id', '', true)")


def allow_if_it_uses_it(apps, workspace_id):
    rows = apps.get_model("workspaces", "ModelSettings").objects.filter(workspace_id=workspace_id)
    row = rows.first()
    has_own_key_there = row is not None and row.endpoint == settings.MODEL_ENDPOINT
    indexes = apps.get_model("workspaces", "EmbeddingIndex").objects.filter(
        workspace_id=workspace_id, endpoint=settings.MODEL_ENDPOINT, sealed_key=b""
    )
    embeds = 0 if has_own_key_there else indexes.update(provider="installation")
    if row is None:
        rows.model.objects.create(workspace_id=workspace_id, may_use_installation=True)
    elif embeds or not (row.endpoint or row.is_local):
        rows.update(may_use_installation=True)


class Migration(migrations.Migration):

    dependencies = [
        ('workspaces', '0014_api_tokens'),
    ]

    operations = [
        migrations.AddField(
            model_name='modelcall',
            name='is_installation',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='modelcall',
            name='payer',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='modelsettings',
            name='may_use_installation',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='embeddingindex',
            name='provider',
            field=models.CharField(default='endpoint', max_length=12),
        ),
        migrations.CreateModel(
            name='InstallationSpending',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('month', models.DateField()),
                ('kind', models.CharField(max_length=10)),
                ('subject', models.CharField(blank=True, max_length=36)),
                ('spent', models.DecimalField(decimal_places=10, default=0, max_digits=18)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('month', 'kind', 'subject'), name='installation_spending_once')],
            },
        ),
        # Last: tables with changed rows cannot be altered in the same transaction.
        migrations.RunPython(allow_those_that_use_it, migrations.RunPython.noop),
    ]
