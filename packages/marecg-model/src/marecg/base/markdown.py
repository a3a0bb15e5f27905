"""Format tables in Markdown."""

from collections.abc import Sequence


def table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], text_columns: int = 1, *, aligned: bool = False
) -> list[str]:
    """Return the lines of a Markdown table.

    Args:
        heads: headings of the columns.
        rows: cells of each row.
        text_columns: number of columns on the left that are aligned to the left. All others are numbers, and
            aligned to the right.
        aligned: whether to pad cells to the width of their column, so that the raw text is readable.

    Example:
        >>> table(["class", "AUC"], [["AF", "97.1"]])
        ['| class | AUC |', '| --- | ---: |', '| AF | 97.1 |']
    """
    lines = [[str(cell) for cell in line] for line in (heads, *rows)]
    widths = [max(map(len, column)) if aligned else 0 for column in zip(*lines, strict=True)]
    sides = ["<" if number < text_columns else ">" for number in range(len(heads))]
    columns = list(zip(sides, widths, strict=True))
    rule = ["-" * (width or 3) if side == "<" else f"{'-' * ((width or 4) - 1)}:" for side, width in columns]
    filled = (
        (f"{cell:{side}{width}}" for cell, (side, width) in zip(line, columns, strict=True))
        for line in (lines[0], rule, *lines[1:])
    )
    return [f"| {' | '.join(cells)} |" for cells in filled]
