"""Validation against SNOMED CT releases, OWL and SHACL, and reports of findings."""
