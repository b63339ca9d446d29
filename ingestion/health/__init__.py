"""Checks that a workspace's data matches its documents and people's decisions.

``services.check`` compares tables with each other, and vectors, words, the graph projection, the
walk's snapshot and the files on disk with the tables. What a running refresh or document will
repair counts as waiting, not as drift: rows marked ``is_changed``, tombstones, documents being
read, and the output of a stage still ahead (``state.WorkspaceState.is_ahead``).
"""
