"""What Footnote measures of itself and of others; see README.md."""
