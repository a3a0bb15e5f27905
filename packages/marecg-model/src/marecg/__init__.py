"""MAR-ECG: ontology-guided representation learning for 12-lead ECG."""
