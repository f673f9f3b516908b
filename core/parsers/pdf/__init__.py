"""PDF, with PyMuPDF: `parser` puts it together; the other files are one step each."""
