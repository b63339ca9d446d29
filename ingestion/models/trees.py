"""Which summary trees there are, and what each was made from."""

from __future__ import annotations

from django.db import models

from ingestion.models.communities import SummaryNode
from ingestion.models.documents import Document
from workspaces.models import TenantModel


class SummaryTree(TenantModel):
    """The tree of one document of several chunks, or with no ``document`` of the workspace.

    ``digest`` stands for the leaves and their vectors, ``writer`` for who was to write: a tree
    whose two are as they were is left alone. ``failed`` counts summaries that were asked of a
    model and are extractive because it gave no usable answer.
    """

    document = models.ForeignKey(
        Document,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    root = models.ForeignKey(
        SummaryNode,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )
    digest = models.CharField(max_length=64)
    writer = models.CharField(max_length=160)
    fingerprint = models.CharField(max_length=80)
    layers = models.PositiveSmallIntegerField()
    nodes = models.PositiveIntegerField()
    failed = models.PositiveIntegerField(default=0)
    built_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "document"], name="summary_tree_once", nulls_distinct=False
            ),
        ]
        indexes = [models.Index(fields=["workspace", "root"], name="summary_tree_root")]

    def __str__(self) -> str:
        return f"{self.nodes} nodes of {self.document_id or 'all documents'}"
