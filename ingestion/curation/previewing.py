"""The effect of an operation before it is carried out.

Merges and deletions are computed from the present rows. The other operations are run in full and
rolled back, so the preview shows exactly what happens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.db import transaction

from ingestion.curation import claims, effects, entities, merging, relationships
from ingestion.curation.effects import Effect
from ingestion.history.recording import ChangeContext
from ingestion.models import HistoryEvent
from workspaces import access
from workspaces.models import Workspace

Service = Callable[..., HistoryEvent]

COMPUTED: Final[dict[Service, Callable[..., Effect]]] = {
    merging.entities_merge: merging.merge_effect,
    entities.entity_delete: entities.delete_effect,
    relationships.relationship_delete: relationships.delete_effect,
    claims.claim_delete: claims.delete_effect,
}


def preview(service: Service, *, workspace: Workspace, **wanted: Any) -> Effect:
    """Return what the service would do with these arguments; raises what the service raises."""
    with access.in_workspace(workspace.pk):
        if service in COMPUTED:
            return COMPUTED[service](workspace=workspace, **wanted)
        with transaction.atomic():
            event = service(change=ChangeContext(workspace, None), **wanted)
            transaction.set_rollback(True)
        return effects.of_event(event)
