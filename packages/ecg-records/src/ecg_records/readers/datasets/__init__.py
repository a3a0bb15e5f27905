"""Readers of published collections."""
