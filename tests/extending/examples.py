"""The examples of docs/extending.md: every one is a whole file, whose name stands in its first line."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def example(name: str) -> str:
    """The code block that begins with `# NAME`."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (block,) = (block for block in blocks if block.startswith(f"# {name}\n"))
    return block
