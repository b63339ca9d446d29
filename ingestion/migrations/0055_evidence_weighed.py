"""What weighs relationships stands in the index of their evidence: a hub has thousands of rows."""

from django.db import migrations, models

from kb_project.database.at_once import AtOnce

ONCE = ('workspace', 'relationship', 'chunk', 'start', 'predicate')


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0054_large_topics_titled'),
    ]

    operations = [
        AtOnce([
            migrations.RemoveConstraint(model_name='evidence', name='evidence_once'),
            migrations.AddConstraint(
                model_name='evidence',
                constraint=models.UniqueConstraint(fields=ONCE, include=('strength', 'kind'), name='evidence_once'),
            ),
        ]),
    ]
