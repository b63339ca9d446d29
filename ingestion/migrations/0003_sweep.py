"""Every minute the main lane looks for work that dead workers left behind."""

from django.db import migrations
from django.utils import timezone

NAME = "sweep"


def schedule_sweep(apps, schema_editor):
    schedules = apps.get_model("django_q", "Schedule").objects.using(schema_editor.connection.alias)
    schedules.update_or_create(
        name=NAME,
        defaults={
            "func": "ingestion.tasks.sweep",
            "schedule_type": "I",
            "minutes": 1,
            "repeats": -1,
            "cluster": "main",
            "next_run": timezone.now(),
        },
    )


def unschedule_sweep(apps, schema_editor):
    schedules = apps.get_model("django_q", "Schedule").objects.using(schema_editor.connection.alias)
    schedules.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0002_tenants"),
        ("django_q", "0018_task_success_index"),
    ]

    operations = [migrations.RunPython(schedule_sweep, unschedule_sweep)]
