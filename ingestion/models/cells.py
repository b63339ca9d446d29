"""Cells: the vectors of a large workspace, grouped by nearness.

A question is compared with the vectors in the cells near it (``ingestion.stages.cells``). The
column ``cell`` of the vectors' table, which no model has, is a cell's number, or null: a vector
without a cell is compared with every question, so that new, restored and copied ones are found.
"""

from __future__ import annotations

from django.db import models
from pgvector.django import HalfVectorField

from workspaces.models import TenantModel, Workspace
from workspaces.models.people import TenantQuerySet


class CellIndex(TenantModel):
    """The cells of one model's vectors, and how many of them a search reads.

    ``probes`` is null until it is measured: every cell is read. ``recall`` is the share of the ten
    nearest passages that a search finds, as measured at ``measured_at``; ``vectors`` is how many
    there were when the cells were made.
    """

    fingerprint = models.CharField(max_length=80)
    vectors = models.PositiveIntegerField()
    probes = models.PositiveIntegerField(null=True)
    recall = models.FloatField(null=True)
    measured_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "fingerprint"], name="cell_index_of_a_model"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.vectors} vectors, {self.probes} cells read"


class Cell(models.Model):
    """A group of vectors near one centre, which has length one."""

    pk = models.CompositePrimaryKey("workspace_id", "fingerprint", "number")
    workspace = models.ForeignKey(
        Workspace, on_delete=models.DO_NOTHING, related_name="+", db_index=False
    )
    fingerprint = models.CharField(max_length=80)
    number = models.IntegerField()
    centre = HalfVectorField()

    objects = TenantQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.fingerprint}, {self.number}"
