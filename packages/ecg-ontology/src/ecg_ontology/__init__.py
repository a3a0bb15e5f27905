"""The cardiac concept graph of MAR-ECG: routing, distances and soft targets."""
