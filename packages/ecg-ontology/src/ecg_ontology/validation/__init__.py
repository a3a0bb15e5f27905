"""Validate an ontology against SNOMED CT releases, OWL and SHACL, and report the findings."""
