"""Each sentence of SECURITY.md names a test, and there is such a test."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_sentence_of_the_security_page_has_its_test():
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    named = [re.search(r"`(tests/\S+\.py)::(test_\w+)` \|$", row) for row in rows]
    assert len(rows) > 15
    assert all(named)
    for match in filter(None, named):
        tree = ast.parse((ROOT / match[1]).read_text(encoding="utf-8"))
        assert match[2] in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, match[0]
