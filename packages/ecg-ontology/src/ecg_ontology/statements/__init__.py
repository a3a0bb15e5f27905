"""Statements of machines and reports: words, cues with their scope, findings, and tables of known lines."""
