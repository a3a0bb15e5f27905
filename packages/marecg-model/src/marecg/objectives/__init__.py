"""Training objectives. Each objective has a file with its settings, heads, losses and loss weights.

Docstrings refer to the MAR-ECG paper: § names a section, and eq. an equation. The symbols are H, the
encoder's output with a vector per patch and lead; H̄, its mean over leads; and h_rhythm, the embedding of a
record.

`objective` defines the interface. `views` contains the encoder passes that objectives can request. To add an
objective, add a file in this folder or in another package.
"""

from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Part, Parts
from marecg.objectives.views import Pass, Views

__all__ = ["Losses", "Objective", "ObjectiveConfig", "Part", "Parts", "Pass", "Views"]
