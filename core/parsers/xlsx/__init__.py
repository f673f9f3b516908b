"""Excel workbooks: `parser` writes the rows, `structure` finds merged cells and the like, `cells` formats."""
