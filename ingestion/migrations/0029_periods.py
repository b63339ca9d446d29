"""When the evidence of a relationship says that it holds."""

from django.db import migrations, models

from kb_project.database.at_once import AtOnce


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0028_claim_rulings'),
    ]

    operations = [
        AtOnce([
            migrations.AddField(
                model_name='evidence',
                name='period_end',
                field=models.CharField(blank=True, db_default='', default='', max_length=25),
            ),
            migrations.AddField(
                model_name='evidence',
                name='period_quote_end',
                field=models.PositiveIntegerField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='evidence',
                name='period_quote_start',
                field=models.PositiveIntegerField(blank=True, null=True),
            ),
            migrations.AddField(
                model_name='evidence',
                name='period_start',
                field=models.CharField(blank=True, db_default='', default='', max_length=25),
            ),
        ]),
    ]
