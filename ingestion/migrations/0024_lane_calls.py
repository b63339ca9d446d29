"""Calls of workspaces to lanes, by which a lane's turns go round."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0023_collection_grants'),
    ]

    operations = [
        migrations.CreateModel(
            name='LaneCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lane', models.CharField(max_length=20)),
                ('party', models.UUIDField()),
            ],
            options={
                'indexes': [models.Index(fields=['lane', 'party', 'id'], name='lane_calls_by_party')],
            },
        ),
    ]
