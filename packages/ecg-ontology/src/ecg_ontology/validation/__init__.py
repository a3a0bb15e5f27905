"""Checks of the graph against the world outside: SNOMED CT releases, OWL, SHACL, and reports of findings."""
