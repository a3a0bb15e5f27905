"""Names of the built-in recipes and tasks. The command line checks them before it imports torch."""

RECIPES = {
    "c1": "The paper's C1: reconstructs masked patches.",
    "c1-gscl": "C1, plus a contrast of records with the concepts of their codes (GSCL).",
    "c2p": "The paper's C2′: C1, plus further self-supervised losses and concept texts.",
    "c2": "The paper's C2: C2′, plus GSCL.",
    "c3": "The paper's C3: C2, plus beats and intervals as targets. For several GPUs.",
    "small": "C3 at a size for one CPU core in an hour or two. `marecg-small` was trained with it.",
    "small-c1": "C1 at the size of small.",
    "small-gscl": "C1 with GSCL at the size of small.",
    "small-graph": "Like small-gscl, with leaves and families instead of the graph's distances.",
    "small-c2p": "C2′ at the size of small.",
    "small-c2": "C2 at the size of small.",
    "base": "C3 at a size for a single GPU.",
    "tiny": "C1 with GSCL for one CPU core in minutes, to check that everything works.",
    "tiny-c1": "C1 at the size of tiny.",
    "tiny-c2p": "C2′ at the size of tiny.",
    "tiny-c2": "C2 at the size of tiny.",
    "tiny-c3": "C3 at the size of tiny.",
}
"""Description of each recipe for users, in the order of `marecg recipes`."""
TASKS = ("ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm", "cpsc2018", "corpus")
"""Names of the built-in tasks on which `marecg probe` evaluates a model."""
