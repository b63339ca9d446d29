"""The walk's matrices are read a part at a time, which compression would not allow."""

from django.db import migrations

PLAIN = "ALTER TABLE ingestion_walksnapshot ALTER COLUMN payload SET STORAGE EXTERNAL"
COMPRESSED = "ALTER TABLE ingestion_walksnapshot ALTER COLUMN payload SET STORAGE EXTENDED"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0047_reports_looked_up")]

    operations = [migrations.RunSQL(PLAIN, reverse_sql=COMPRESSED)]
