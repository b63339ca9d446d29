"""The queue's entries by lane and lock: workers look several times a second."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0038_needs"),
        ("django_q", "0019_alter_task_options_alter_ormq_key_alter_ormq_lock_and_more"),
    ]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX queue_by_lane ON django_q_ormq (key, lock, id);",
            "DROP INDEX queue_by_lane;",
        ),
    ]
