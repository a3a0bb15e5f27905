"""Define what a probe compares: encoders, hand-crafted features, baselines, and files of features."""
