"""HTML: `parser` reads a page, `walk` goes through its visible elements, `tables` makes Markdown of a table."""
