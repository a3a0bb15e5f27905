"""The frozen probe: tasks, methods, how they are probed, scores; `evaluation` puts them together.

Beside it: sweeps and ablations over several runs, the leak check, and the paper's table.
"""
