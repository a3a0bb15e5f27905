"""One reader per published dataset."""
