import django.db.models.deletion
import uuid
from django.db import migrations, models

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0012_curation_tenants'),
        ('workspaces', '0007_answer_wishes'),
    ]

    operations = [
        migrations.CreateModel(
            name='HiddenName',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=300)),
                ('document', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.document')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'indexes': [models.Index(fields=['workspace', 'document'], name='hidden_in_document')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'key', 'document'), name='hidden_name_once')],
            },
        ),
        tenant_table('ingestion_hiddenname', Reference('document_id', 'ingestion_document')),
    ]
