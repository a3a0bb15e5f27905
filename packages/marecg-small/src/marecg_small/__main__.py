"""Print the path of the example, for use in `marecg predict "$(python -m marecg_small)"`."""

from marecg_small import EXAMPLE

print(EXAMPLE)  # noqa: T201
