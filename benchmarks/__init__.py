"""Measure the speeds in docs/performance.md, as ratios to baselines in the same run."""
