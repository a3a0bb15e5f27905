"""Shared helpers: plugins, progress, memory, devices and temporary folders.

They don't depend on signals, models or file formats.
"""
