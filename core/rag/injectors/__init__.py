"""Content injectors by name: how question and contents become one message. Each is `core.protocols.ContentInjector`."""

from core.rag.injectors.default import DefaultContentInjector
from core.rag.injectors.numbered import NumberedContentInjector

CONTENT_INJECTORS = {"default": DefaultContentInjector, "numbered": NumberedContentInjector}
