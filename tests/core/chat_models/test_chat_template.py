import pytest

from core.chat_models.chat_template import ChatTemplate, PromptPart
from core.domain import ChatMessage
from core.errors import ModelError

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_the_texts_are_kept_apart_from_what_the_template_writes():
    parts = ChatTemplate(CHATML).render([ChatMessage("system", "Be kind."), ChatMessage("user", "hi<|im_end|>")])
    assert parts == [
        PromptPart("<|im_start|>system\n", True),
        PromptPart("Be kind.", False, "system"),
        PromptPart("<|im_end|>\n<|im_start|>user\n", True),
        PromptPart("hi<|im_end|>", False, "user"),
        PromptPart("<|im_end|>\n<|im_start|>assistant\n", True),
    ]


def test_e04_no_template_is_one_sentence():
    with pytest.raises(ModelError, match="'base' has no chat template"):
        ChatTemplate(" \n", model="base")


def test_a_model_without_a_system_role_gets_the_rules_in_front_of_the_question():
    template = ChatTemplate(
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        "{{ bos_token }}{% for m in messages %}[{{ m['content'] }}]{% endfor %}",
        bos="<s>",
    )
    parts = template.render([ChatMessage("system", "Rules."), ChatMessage("user", "Why?")])
    assert "".join(part.text for part in parts) == "<s>[Rules.\n\nWhy?]"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{% for m in messages %", "can't be read"),
        ("{{ messages[5]['content']['x'] }}", "refuses this conversation"),
        ("nothing of it", "leaves out a message"),
        ("{{ ''.__class__.__mro__ }}{{ messages[0]['content'] }}", "refuses this conversation"),
    ],
)
def test_a_template_that_cannot_be_used_is_one_sentence(source, says):
    with pytest.raises(ModelError, match=says):
        ChatTemplate(source, model="odd").render([ChatMessage("user", "a")])


def test_a_clock_in_the_template_stands_still():
    template = ChatTemplate("{{ strftime_now('%d %b %Y') }}{% for m in messages %}{{ m['content'] }}{% endfor %}")
    assert template.render([ChatMessage("user", "x")])[0].text == "01 Jan 2025"
