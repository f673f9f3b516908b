import pytest

from core.errors import DocumentError
from core.parsers.html.parser import HtmlParser


def parse(html: str | bytes):
    return HtmlParser().parse(html.encode() if isinstance(html, str) else html, "a.html")


def marked(document, kind: str) -> list[tuple]:
    return [(mark.value, document.text[mark.start : mark.end]) for mark in document.marks if mark.kind == kind]


def test_a22_what_nobody_sees_is_left_out_and_counted():
    document = parse(
        "<html><head><title>T</title><style>p{x:y}</style><script>var s='SCRIPTWORD'</script></head><body>"
        "<!-- COMMENTWORD --><noscript>NOSCRIPTWORD</noscript><template>TEMPLATEWORD</template>"
        "<p>Visible price 100</p><p style='color:red; DISPLAY : none'>HIDDENCSS</p><p hidden>HIDDENATTR</p>"
        "<div aria-hidden='true'>ARIA<b>WORD</b></div><p hidden></p></body></html>"
    )
    assert document.text == "Visible price 100"
    assert document.metadata.to_dict() == {"title": "T", "encoding": "utf-8", "warnings": "3 hidden passages skipped"}


def test_a22_collapsed_answers_are_kept():
    document = parse("<details><summary>How?</summary><p>So.</p></details><p hidden='until-found'>Found.</p>")
    assert document.text == "How?\n\nSo.\n\nFound."


def test_a24_blocks_separate_and_inline_does_not():
    document = parse("<p>alpha<br>beta</p><p>gamma</p><ul><li>one</li><li>two</li></ul><b>bo</b>ld<i>er</i>")
    assert document.text == "alpha\nbeta\n\ngamma\n\n- one\n- two\n\nbolder"


def test_a24_white_space_is_collapsed_as_a_browser_does():
    assert parse("<p>a\n  b&nbsp;c</p><p>有什么<a>需要</a>\n我帮你</p>").text == "a b c\n\n有什么需要我帮你"


def test_a25_nested_tables_stay_in_their_row():
    document = parse(
        "<table><tr><th>Part</th><th>Spec</th></tr><tr><td>X1</td><td><table><tr><td>max</td><td>40</td></tr>"
        "<tr><td>min</td><td>5</td></tr></table></td></tr><tr><td>X2</td><td>n/a</td></tr></table>"
    )
    assert document.text == "| Part | Spec |\n| --- | --- |\n| X1 | max 40; min 5 |\n| X2 | n/a |"
    assert marked(document, "table") == [("| Part | Spec |", document.text)]


def test_spans_keep_rows_whole():
    document = parse(
        "<table><tr><th>R</th><th>a</th><th>b</th></tr><tr><td rowspan=2>N</td><td colspan=2>1</td></tr>"
        "<tr><td>2</td><td>3|4</td></tr><tr><td colspan=999999999>x</td></tr></table>"
    )
    assert document.text.split("\n")[2:4] == ["| N | 1 |  |" + "  |" * 97, "| N | 2 | 3\\|4 |" + "  |" * 97]


def test_layout_tables_are_read_as_blocks():
    assert parse("<table><tr><td><p>Menu</p></td></tr><tr><td><p>Text</p></td></tr></table>").text == "Menu\n\nText"


def test_headings_and_code_are_marked():
    document = parse(
        "<h1>Guide</h1><p>x</p><h2>Run <em>it</em></h2><pre><code class='language-sh'>a  b\n# c</code></pre>"
    )
    assert document.text == "Guide\n\nx\n\nRun it\n\na  b\n# c"
    assert [value for value, _ in marked(document, "heading")] == ["Guide", "Guide > Run it"]
    assert marked(document, "code") == [("sh", "a  b\n# c")]


def test_ordered_and_nested_lists():
    assert parse("<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>").text == "1. a\n  - b\n2. c"


def test_ruby_readings_are_left_out():
    assert parse("<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>へ</p>").text == "東京へ"


@pytest.mark.parametrize(
    "html",
    [
        "<p>Die schöne Frau, 15,50 €</p>".encode("cp1252"),
        '<meta charset="windows-1252"><p>Die schöne Frau, 15,50 €</p>'.encode("cp1252"),
        "<p>Die schöne Frau, 15,50 €</p>".encode("utf-16"),
        '<meta charset="iso-8859-1"><p>Die schöne Frau, 15,50 €</p>'.encode(),
    ],
)
def test_a16_encodings_of_pages(html):
    assert parse(html).text == "Die schöne Frau, 15,50 €"


def test_a_declared_encoding_is_believed_where_bytes_alone_are_too_few():
    html = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-6"><p>دار</p>'
    assert parse(html.encode("iso8859-6")).text == "دار"


def test_a11_a_nul_does_not_end_the_page():
    assert parse(b"<p>ab\x00cd &#0; &#xD800; end</p>").text.replace("\ufffd", "").split() == ["ab", "cd", "end"]


@pytest.mark.timeout(20)
def test_deep_nesting_neither_crashes_nor_hangs():
    assert "deep word" in parse("<div>" * 20_000 + "deep word").text
    cell = "<table><tr><th>a<td>" + "<div>" * 3_000 + "</div>" * 3_000 + "b</table>"
    assert parse(cell).text.startswith("| a | b |")


def test_no_text_says_what_to_do():
    with pytest.raises(DocumentError, match=r"^'a.html' holds no text; if a script draws the page, save it .* as PDF"):
        parse("<div id=root></div><script>draw()</script>")
