"""Tables for what was read of documents that are disabled or in the trash.

And what deleting a document's chunks needs: it looks up what rests on each of them.
"""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import Reference, tenant_table

CHUNK = Reference('chunk_id', 'ingestion_shelvedchunk')


def pointer(to):
    return models.ForeignKey(
        db_constraint=to == 'workspaces.workspace',
        db_index=False,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name='+',
        to=to,
    )


def shelved(*keys):
    """The columns of what belongs to one shelved chunk."""
    return [
        ('pk', models.CompositePrimaryKey(*keys, blank=True, editable=False, primary_key=True, serialize=False)),
        ('workspace', pointer('workspaces.workspace')),
        ('chunk', pointer('ingestion.shelvedchunk')),
    ]


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0013_hidden_names'),
        ('workspaces', '0002_tenants'),
    ]

    operations = [
        AtOnce([
            migrations.CreateModel(
                name='ShelvedChunk',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('workspace', pointer('workspaces.workspace')),
                    ('document', pointer('ingestion.document')),
                    ('version', pointer('ingestion.documentversion')),
                    ('ordinal', models.PositiveIntegerField()),
                    ('start', models.PositiveIntegerField()),
                    ('end', models.PositiveIntegerField()),
                    ('text', models.TextField()),
                    ('context', models.TextField(blank=True)),
                    ('tokens', models.PositiveIntegerField()),
                    ('terms', models.PositiveIntegerField(null=True)),
                    ('page_first', models.PositiveIntegerField(null=True)),
                    ('page_last', models.PositiveIntegerField(null=True)),
                    ('heading_path', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ],
                options={
                    'indexes': [models.Index(fields=['workspace', 'document'], name='shelved_chunk_of')],
                },
            ),
            migrations.CreateModel(
                name='ShelvedExtraction',
                fields=[
                    *shelved('workspace_id', 'chunk_id'),
                    ('method', models.CharField(max_length=80)),
                    ('payload', models.JSONField()),
                    ('problem', models.JSONField(blank=True, null=True)),
                    ('rejected', models.JSONField(blank=True, db_default={}, default=dict)),
                ],
                options={'abstract': False},
            ),
            migrations.CreateModel(
                name='ShelvedPosting',
                fields=[
                    *shelved('workspace_id', 'chunk_id', 'term'),
                    ('term', models.CharField(max_length=80)),
                    ('frequency', models.PositiveSmallIntegerField()),
                ],
                options={'abstract': False},
            ),
            migrations.CreateModel(
                name='ShelvedVector',
                fields=[
                    *shelved('workspace_id', 'chunk_id', 'fingerprint'),
                    ('fingerprint', models.CharField(max_length=80)),
                    ('vector', pgvector.django.halfvec.HalfVectorField()),
                ],
                options={'abstract': False},
            ),
        ]),
        tenant_table(
            'ingestion_shelvedchunk',
            Reference('document_id', 'ingestion_document'),
            Reference('version_id', 'ingestion_documentversion'),
        ),
        tenant_table('ingestion_shelvedextraction', CHUNK, has_id=False),
        tenant_table('ingestion_shelvedposting', CHUNK, has_id=False),
        tenant_table('ingestion_shelvedvector', CHUNK, has_id=False),
        AtOnce([
            migrations.AddIndex(
                model_name='claim',
                index=models.Index(fields=['workspace', 'chunk'], name='claim_in_chunk'),
            ),
            migrations.AddIndex(
                model_name='fragment',
                index=models.Index(fields=['workspace', 'chunk'], name='fragment_in_chunk'),
            ),
            migrations.AddField(
                model_name='communityreport',
                name='digest',
                field=models.CharField(blank=True, db_default='', default='', help_text='Of what it was made from.', max_length=64),
            ),
        ]),
    ]
