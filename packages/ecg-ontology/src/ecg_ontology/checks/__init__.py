"""The findings catalogue, a module for each chapter.

A rule has an id that never changes meaning. The letter is its severity, the first digit its chapter:
0 structure, 1 text variants, 2 enumeration, 3 routing.
"""
