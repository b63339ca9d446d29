import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.tenancy import tenant_table


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0039_queue_index"), ("workspaces", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="Clustering",
            fields=[
                (
                    "workspace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="workspaces.workspace",
                    ),
                ),
                ("entities", models.PositiveIntegerField()),
                ("roots", models.FloatField()),
                ("finest", models.FloatField()),
                ("largest", models.PositiveIntegerField()),
                ("beside", models.PositiveIntegerField()),
                ("made_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        tenant_table("ingestion_clustering", has_id=False),
    ]
