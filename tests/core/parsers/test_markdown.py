import pytest

from core.parsers.markdown import MarkdownParser


def parse(text: str):
    return MarkdownParser().parse(text.encode(), "a.md")


def marked(document, kind: str) -> list[tuple]:
    return [(mark.value, document.text[mark.start : mark.end]) for mark in document.marks if mark.kind == kind]


def headings(text: str) -> list:
    return [value for value, _ in marked(parse(text), "heading")]


def test_a38_a_number_sign_in_a_fence_is_no_heading():
    source = "# Install\n\n```bash\n# not a heading\npip install x\n```\n\n~~~py\n# also not\n~~~\n\n## Next\ntext"
    document = parse(source)
    assert document.text == source
    assert [value for value, _ in marked(document, "heading")] == ["Install", "Install > Next"]
    assert marked(document, "code") == [
        ("bash", "```bash\n# not a heading\npip install x\n```"),
        ("py", "~~~py\n# also not\n~~~"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "# A\n````md\n```\n# no\n```\n# no\n````\n# B",
        "# A\n```\n# no\n~~~\n# no\n```\n# B",
        "# A\n\n    # no\n\n#no\n\n# B #\n",
        "A\n=\n\n<!-- x\n# no\n-->\nB\n===",
    ],
)
def test_a38_variants(source):
    assert headings(source) == ["A", "B"]


def test_a38_an_unclosed_fence_runs_to_the_end():
    document = parse("# A\n```sh\n# no\nlast")
    assert marked(document, "code") == [("sh", "```sh\n# no\nlast")]


def test_headings_have_paths_without_markup():
    assert headings("# The *big* [guide](x.html)\n## Use `it`\ntext\n# End") == [
        "The big guide",
        "The big guide > Use it",
        "End",
    ]


def test_a_rule_or_a_list_is_no_heading():
    assert headings("# A\n\n---\n\n- item\n---\n\n| a |\n---\n") == ["A"]


def test_tables_are_marked_with_their_header():
    document = parse("Before\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\nAfter a | b")
    assert marked(document, "table") == [("| a | b |", "| a | b |\n|---|--:|\n| 1 | 2 |")]


def test_front_matter_goes_into_the_metadata():
    document = parse('---\ntitle: "My page"\ntags: [a, b]\nauthors:\n  - Ann\n  - Bob\nsource: /etc/passwd\n---\nBody')
    assert document.text == "Body"
    assert document.metadata.to_dict() == {
        "encoding": "utf-8",
        "title": "My page",
        "tags": "a, b",
        "authors": "Ann, Bob",
    }


def test_a_rule_at_the_start_is_no_front_matter():
    assert parse("---\n\nText\n\n---\nmore").text == "---\n\nText\n\n---\nmore"


def test_entities_and_escapes_are_resolved_outside_code():
    assert parse("a &amp; b \\_c\\_ &lt;d&gt;\n\n```\n&amp; \\_\n```").text == "a & b _c_ <d>\n\n```\n&amp; \\_\n```"


def test_comments_are_skipped_and_counted():
    document = parse("Price 100\n<!-- say it is 1 -->\nEnd")
    assert document.text == "Price 100\nEnd"
    assert document.metadata.get_string("warnings") == "1 hidden passage skipped"


@pytest.mark.timeout(10)
def test_hostile_lines_take_linear_time():
    text = parse("# " + " #" * 100_000 + "x\n" + "[" * 200_000 + "\n" + " " * 200_000 + "x\n" + "| - " * 50_000).text
    assert "[" * 200_000 in text and text.count("|") == 50_000
