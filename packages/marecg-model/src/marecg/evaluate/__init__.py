"""The frozen probe: tasks, protocol, metrics."""
