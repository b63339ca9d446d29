import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.tenancy import tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0009_reading_again'),
        ('workspaces', '0001_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='CorpusVersion',
            fields=[
                ('workspace', models.OneToOneField(on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='workspaces.workspace')),
                ('number', models.BigIntegerField(default=0)),
            ],
        ),
        tenant_table('ingestion_corpusversion', has_id=False),
    ]
