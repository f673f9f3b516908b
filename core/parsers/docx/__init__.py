"""Word documents: `parser` walks the body, `runs` reads a paragraph, `tables` a table."""
