"""The losses: one equation, one home."""
