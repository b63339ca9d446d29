"""What may be one thing, as people work through it: cases, decisions on them, and the queue."""
