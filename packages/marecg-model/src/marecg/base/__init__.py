"""What every room may use: settings with their sources, errors, plugins, this machine's memory and devices.

Knows no signal, no model and no file format.
"""
