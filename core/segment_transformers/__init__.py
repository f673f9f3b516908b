"""Segment transformers: they change what is embedded (`embedded_text`), never what is shown."""

from core.segment_transformers.heading_prefix import HeadingPrefix

SEGMENT_TRANSFORMERS = {"heading_prefix": HeadingPrefix}
