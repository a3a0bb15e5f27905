"""Ground floor of every room: settings with their sources, errors, plugins, memory and devices.

Knows no signal, no model and no file format.
"""
