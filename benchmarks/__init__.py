"""Every speed that the project states: ratios to named baselines in the same run (docs/performance.md)."""
