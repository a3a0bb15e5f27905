"""Prints the lines of the registry that are missing or stale."""

import sys

from tests.docs.claims.registry import PAGES, findings

if __name__ == "__main__":
    for page in PAGES:
        sys.stdout.writelines(f"{finding}\n" for finding in findings(page))
