"""For the API reference: griffe reads `Examples:` as code, and our docstrings say `Example:`."""

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames the heading as each docstring is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename it in one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("Example:\n", "Examples:\n")
