"""Shared helpers: plugins, progress, memory, devices and temporary folders.

This package knows no signal, no model and no file format.
"""
