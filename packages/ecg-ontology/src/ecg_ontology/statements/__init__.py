"""Read the statements of devices and reports: words, cues with their scope, findings, and known lines."""
