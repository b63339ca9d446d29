"""How much each person, token and address has used of what is limited."""

from __future__ import annotations

from django.db import models


class RateLimit(models.Model):
    """One limited thing, such as a person's requests, by the digest of its name.

    ``full_at`` is the theoretical arrival time of the generic cell rate algorithm: the moment from
    which nothing counts as used any more. A row whose moment is past may be deleted.
    """

    key = models.CharField(max_length=64, primary_key=True)
    full_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key
