"""From hospital records to batches."""
