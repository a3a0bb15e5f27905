"""Statements of machines and reports: words, cues and their scope, findings, and tables of known lines."""
