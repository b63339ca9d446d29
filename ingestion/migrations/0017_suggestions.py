import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0016_version_labels'),
        ('workspaces', '0007_answer_wishes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AtOnce([
            migrations.AddField(
                model_name='mergesuggestion',
                name='reasons',
                field=models.JSONField(blank=True, db_default=[], default=list),
            ),
            migrations.AddField(
                model_name='mergesuggestion',
                name='effect',
                field=models.FloatField(db_default=0, default=0),
            ),
            migrations.CreateModel(
                name='SuggestionSkip',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('case', models.UUIDField()),
                    ('skipped_at', models.DateTimeField(auto_now_add=True)),
                    ('user', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('workspace', 'user', 'case'), name='skip_once')],
                },
            ),
        ]),
        tenant_table('ingestion_suggestionskip'),
    ]
