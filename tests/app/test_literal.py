"""Text of people where Streamlit reads Markdown or HTML."""

from __future__ import annotations

from pages.ui.literal import escaped, literal, shortened, visible


def test_f10_markdown_is_escaped():
    assert literal("~0.5 *a* _b_ `c` [x](y) $1$ # <b>") == (r"\~0\.5 \*a\* \_b\_ \`c\` \[x\]\(y\) \$1\$ \# \<b\>")


def test_f10_a_colon_begins_neither_an_emoji_nor_a_colour():
    assert literal(":smile: :red[x]") == ":\u2060smile: :\u2060red\\[x\\]"


def test_literal_is_one_line():
    assert literal("a\n# b\t c") == "a \\# b c"


def test_html_is_escaped():
    assert escaped('<img src=x onerror="alert(1)">') == "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"


def test_a46_a_name_can_not_turn_the_writing_direction():
    assert visible("invoice\u202efdp.exe\x00") == "invoicefdp.exe"


def test_shortened_keeps_the_beginning():
    assert [shortened("a  b", 9), shortened("abcdef", 4)] == ["a b", "abc…"]
