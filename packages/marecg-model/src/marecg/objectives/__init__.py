"""Training objectives, one file per objective: values, heads, losses, weighting.

`objective` is what each of them is, `views` what they ask for. Another file, here or outside, is another one.
"""

from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Part, Parts
from marecg.objectives.views import Pass, Views

__all__ = ["Losses", "Objective", "ObjectiveConfig", "Part", "Parts", "Pass", "Views"]
