"""Weights alone, no code: marecg finds the folders beside this file by the entry points `marecg.models`."""
