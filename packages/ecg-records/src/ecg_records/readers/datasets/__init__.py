"""The published collections, one reader each."""
