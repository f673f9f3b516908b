import pytest

from core.domain import Mark
from core.parsers.csv import CsvParser, find_delimiter


def parse(text: str | bytes):
    return CsvParser().parse(text.encode() if isinstance(text, str) else text, "a.csv")


def test_a20_bom_semicolon_and_decimal_comma():
    document = parse("\ufeffsensor;value\nalpha;3,5\n")
    assert document.text == "sensor, value\nsensor: alpha, value: 3,5"
    assert document.marks == (Mark(0, 13, "rows", 1), Mark(14, 39, "rows", 2))


@pytest.mark.parametrize("delimiter", ["\t", ";", "|", ","])
def test_a20_delimiters(delimiter):
    rows = [["name", "town", "n"], ["Ann", "Rome", "1"], ["Bob", "Oslo", "2"]]
    text = "\n".join(delimiter.join(row) for row in rows)
    assert parse(text).text == "name, town, n\nname: Ann, town: Rome, n: 1\nname: Bob, town: Oslo, n: 2"


@pytest.mark.parametrize(
    "text", ["name\nalpha\nbeta", "names\nSmith, Ann\nDoe, Bob", "note\nfirst; maybe\nsecond\nthird", "one line only"]
)
def test_a20_one_column(text):
    assert parse(text).text == text


def test_a20_utf_16_and_excels_own_hint():
    assert parse("sep=|\na|b,c\n1|2\n".encode("utf-16")).text == "a, b,c\na: 1, b,c: 2"


def test_a17_japanese_table():
    assert parse("名前,住所\n髙橋淳,名古屋\n".encode("cp932")).text == "名前, 住所\n名前: 髙橋淳, 住所: 名古屋"


def test_quoted_delimiters_and_line_breaks_stay_in_their_cell():
    assert parse('a,b\n"x, y","two\nlines"\n,"say ""hi"""\n').text == 'a, b\na: x, y, b: two lines\nb: say "hi"'


def test_a21_a_field_of_any_size():
    document = parse(f'a,b\n1,"{"x" * 200_000}"\n')
    assert document.text == "a, b\na: 1, b: " + "x" * 200_000


def test_without_a_header_the_values_stand_alone():
    assert parse("1,2,x\n3,4,y\n").text == "1, 2, x\n3, 4, y"


def test_cells_beyond_the_header_are_counted():
    assert parse("a,b\n1,2,3\n4,5,6\n").text.split("\n")[1] == "a: 1, b: 2, column 3: 3"


def test_an_open_quote_does_not_swallow_the_rest():
    document = parse('name,town\nAnn,"Rome\n' + "Bob,Oslo\n" * 20)
    assert document.text.split("\n")[1:3] == ['name: Ann, town: "Rome', "name: Bob, town: Oslo"]
    assert len(document.text.split("\n")) == 22
    assert "never closed" in document.metadata.get_string("warnings")


def test_find_delimiter_looks_at_quotes():
    assert find_delimiter('"a,b";"c"\n"d,e";"f"\n') == ";"
    assert find_delimiter("just words") is None
