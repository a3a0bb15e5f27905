"""Validation against external references: SNOMED CT releases, OWL, SHACL; reports of findings."""
