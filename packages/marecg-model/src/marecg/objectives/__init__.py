"""Training objectives. The file of an objective contains its settings, heads, losses and weights.

`objective` defines the interface. `views` contains the encoder passes that objectives can request. To add an
objective, add a file in this folder or in another package.
"""

from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Part, Parts
from marecg.objectives.views import Pass, Views

__all__ = ["Losses", "Objective", "ObjectiveConfig", "Part", "Parts", "Pass", "Views"]
