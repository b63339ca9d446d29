"""Runs have a kind, the worker that works on them, and the conditions they were made under."""

from django.db import migrations, models

from kb_project.database.at_once import AtOnce


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0004_answer_tenants")]

    operations = [
        AtOnce([
            migrations.AddField(
                model_name="evaluationrun",
                name="conditions",
                field=models.JSONField(db_default={}, default=dict),
            ),
            migrations.AddField(
                model_name="evaluationrun",
                name="kind",
                field=models.CharField(
                    choices=[("measure", "Measuring"), ("make", "Making questions")],
                    db_default="measure",
                    default="measure",
                    max_length=10,
                ),
            ),
            migrations.AddField(
                model_name="evaluationrun",
                name="worker",
                field=models.CharField(blank=True, db_default="", default="", max_length=100),
            ),
        ]),
    ]
