"""The plain injector: the message, one line, the contents."""

from __future__ import annotations

from collections.abc import Sequence

from core.domain import Content
from core.prompt_template import PromptTemplate

DEFAULT_TEMPLATE = "{{userMessage}}\n\nAnswer using the following information:\n{{contents}}"
REQUIRED = ("userMessage", "contents")


class DefaultContentInjector:
    """The message, then "Answer using the following information:" and the contents, a blank line between them.

    prompt_template           own template; it must hold {{userMessage}} and {{contents}}, else ConfigError
    metadata_keys_to_include  with ["source"], each content is a `content: …` line and a `source: …` line; unknown keys
                              are left out

    Override `format` to write a content in another way. No contents leave the message as it is.
    """

    def __init__(
        self, *, prompt_template: str | PromptTemplate = DEFAULT_TEMPLATE, metadata_keys_to_include: Sequence[str] = ()
    ) -> None:
        self.prompt_template = PromptTemplate.of(prompt_template, required=REQUIRED)
        self.metadata_keys_to_include = tuple(metadata_keys_to_include)

    def inject(self, contents: Sequence[Content], message: str) -> str:
        if not contents:
            return message
        written = "\n\n".join(self.format(content) for content in contents)
        return self.prompt_template.apply({"userMessage": message, "contents": written})

    def format(self, content: Content) -> str:
        """One content as it stands in the prompt."""
        text, metadata = content.segment.text, content.segment.metadata
        known = [key for key in self.metadata_keys_to_include if metadata.contains_key(key)]
        if not known:
            return text
        values = metadata.to_dict()
        return "\n".join([f"content: {text}", *(f"{key}: {values[key]}" for key in known)])
