"""What answers may say and how they are checked; what the models cost by question."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0006_reranker")]

    operations = [
        migrations.AddField(
            "modelsettings", "allows_general", models.BooleanField(default=False, db_default=False)
        ),
        migrations.AddField(
            "modelsettings", "wants_judge", models.BooleanField(default=True, db_default=True)
        ),
        migrations.AddIndex(
            "modelcall",
            models.Index(
                fields=["workspace", "question_id"],
                condition=models.Q(question_id__isnull=False),
                name="model_call_question",
            ),
        ),
    ]
