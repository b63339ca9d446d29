"""Pages of evaluation: question sets, runs over them, and results."""
