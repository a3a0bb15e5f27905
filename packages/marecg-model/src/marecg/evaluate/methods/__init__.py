"""Define what a probe compares: encoders, zero-shot, hand-crafted features, baselines and files."""
