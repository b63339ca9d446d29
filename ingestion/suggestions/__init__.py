"""Merge suggestions as people work through them: cases, decisions on them, and the queue."""
