"""What an answer came to. Of answers given before, those that nothing supports become unsure where
they have passages to show, else nothing."""

from django.db import migrations, models

# The table's rows are hidden from its owner too, unless that is lifted for the statement.
TELL_UNANSWERED = """
ALTER TABLE retrieval_answer NO FORCE ROW LEVEL SECURITY;
UPDATE retrieval_answer
   SET outcome = CASE WHEN nearest = '[]' THEN 'nothing' ELSE 'unsure' END
 WHERE NOT is_supported AND trace <> '{}';
ALTER TABLE retrieval_answer FORCE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0008_sources_gone")]

    operations = [
        migrations.AddField(
            model_name="answer",
            name="outcome",
            field=models.CharField(db_default="answered", default="answered", max_length=16),
        ),
        migrations.RunSQL(TELL_UNANSWERED, migrations.RunSQL.noop),
    ]
