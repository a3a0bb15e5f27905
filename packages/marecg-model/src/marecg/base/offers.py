"""Names of the built-in recipes and tasks, which the command line checks before torch is imported."""

RECIPES = {
    "c1": "The paper's C1: reconstructs masked patches, and nothing else.",
    "c1-gscl": "C1 and graph-smoothed contrast with the concepts of the codes.",
    "c2p": "The paper's C2′: C1 and the self-supervised losses, without the graph.",
    "c2": "The paper's C2: C2′ and the graph.",
    "c3": "The paper's C3: C2 and beats and intervals as targets. For several GPUs.",
    "small": "C3 for one CPU core in an hour or two. `marecg-small` was trained with it.",
    "small-c1": "C1.",
    "small-gscl": "C1 with GSCL.",
    "small-graph": "Like small-gscl, with leaves and families instead of the graph's distances.",
    "small-c2p": "C2′.",
    "small-c2": "C2.",
    "base": "C3 for a single GPU.",
    "tiny": "C1 with GSCL for one CPU core in minutes, to see that everything works.",
    "tiny-c1": "C1.",
    "tiny-c2p": "C2′.",
    "tiny-c2": "C2.",
    "tiny-c3": "C3.",
}
"""Sentence for users of each recipe, in the order of `marecg recipes`."""
TASKS = ("ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm", "cpsc2018", "corpus")
"""Tasks of `marecg probe`."""
