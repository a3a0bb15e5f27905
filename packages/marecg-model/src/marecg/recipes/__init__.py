"""Recipes, which contain all settings of a run: the schema, the named recipes, and changes of settings.

Example:
    >>> from marecg import recipes
    >>> list(recipes.c3().objectives)
    ['ar', 'jepa', 'view', 'gscl', 'msps', 'mpct']
"""

from marecg.recipes.named import base, c1, c1_gscl, c2, c2p, c3, small, tiny
from marecg.recipes.overrides import RECIPES, by_name
from marecg.recipes.schema import Config

__all__ = ["RECIPES", "Config", "base", "by_name", "c1", "c1_gscl", "c2", "c2p", "c3", "small", "tiny"]
