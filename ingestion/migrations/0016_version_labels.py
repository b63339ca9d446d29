"""What each version of a document is called and what kind of file it is."""

from django.db import migrations, models

from kb_project.database.at_once import AtOnce


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0015_consistency_checks")]

    operations = [
        AtOnce([
            migrations.AddField(
                model_name="documentversion",
                name="title",
                field=models.CharField(blank=True, db_default="", default="", max_length=500),
            ),
            migrations.AddField(
                model_name="documentversion",
                name="media_type",
                field=models.CharField(blank=True, db_default="", default="", max_length=120),
            ),
        ]),
    ]
