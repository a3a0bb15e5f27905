"""Read published data sets in their original layout."""
