"""What a refresh reads of all entities, and of much evidence, comes from indexes alone: a row for
each of hundreds of thousands of keys costs several times as much.
"""

from django.db import migrations, models

from kb_project.database.at_once import AtOnce

KEY = ('workspace', 'key', 'sense')
ONCE = ('workspace', 'relationship', 'chunk', 'start', 'predicate')


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0060_statistics_within'),
    ]

    operations = [
        AtOnce([
            migrations.RemoveConstraint(model_name='entity', name='entity_key_once'),
            migrations.AddConstraint(
                model_name='entity',
                constraint=models.UniqueConstraint(fields=KEY, include=('id',), name='entity_key_once'),
            ),
        ]),
        AtOnce([
            migrations.RemoveConstraint(model_name='evidence', name='evidence_once'),
            migrations.AddConstraint(
                model_name='evidence',
                constraint=models.UniqueConstraint(fields=ONCE, include=('strength', 'kind', 'document', 'end'), name='evidence_once'),
            ),
        ]),
    ]
