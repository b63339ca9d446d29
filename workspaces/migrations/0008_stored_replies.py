"""Answers of the API that are given again to whoever asks the same once more."""

import uuid

from django.conf import settings
from django.db import migrations, models

from kb_project.database.tenancy import tenant_table


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0007_answer_wishes")]

    operations = [
        migrations.CreateModel(
            name="StoredReply",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                ("digest", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("body", models.JSONField(null=True)),
                ("headers", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="workspaces.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "user", "key"), name="stored_reply_once"
                    )
                ],
                "indexes": [
                    models.Index(fields=["workspace", "created_at"], name="stored_reply_age")
                ],
            },
        ),
        tenant_table("workspaces_storedreply"),
    ]
