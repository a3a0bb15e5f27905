"""Read the codes of users and data sets, map them to SNOMED CT, and measure how many the graph covers."""
