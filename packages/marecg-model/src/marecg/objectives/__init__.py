"""Training objectives, one file per objective: values, heads, losses, weighting.

`objective` defines the interface, and `views` the encoder passes that objectives can request. A new objective
is a new file, in this folder or in another package.
"""

from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Part, Parts
from marecg.objectives.views import Pass, Views

__all__ = ["Losses", "Objective", "ObjectiveConfig", "Part", "Parts", "Pass", "Views"]
