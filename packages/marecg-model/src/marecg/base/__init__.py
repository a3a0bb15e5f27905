"""What every room may need: plugins, progress, memory, devices and temporary folders.

Knows no signal, no model and no file format.
"""
