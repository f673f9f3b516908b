import pytest

from core.errors import ConfigError
from core.prompt_template import PromptTemplate


def test_variables_are_replaced_once_and_values_are_only_text():
    template = PromptTemplate("{{a}} and {{ b }}, {{a}}")
    assert template.apply({"a": "{{b}}", "b": "$1\\1", "c": "unused"}) == "{{b}} and $1\\1, {{b}}"


def test_a_missing_variable_is_refused():
    with pytest.raises(ConfigError, match="no value for 'question'"):
        PromptTemplate("{{question}} {{n}}").apply({"n": 3})
    with pytest.raises(ConfigError, match=r"must hold \{\{contents\}\}"):
        PromptTemplate.of("{{userMessage}}", required=("userMessage", "contents"))
