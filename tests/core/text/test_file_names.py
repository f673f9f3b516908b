import pytest

from core.errors import ConfigError
from core.text.file_names import collection_name, display_name, one_line, told_apart


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("/my/a.txt", "a.txt"),
        ("C:\\my\\a.txt", "a.txt"),
        ("файл.txt", "файл.txt"),
        ("\u202etxt.exe\n", "txt.exe"),
        ("a\x00\x1b[31mb.txt", "a [31mb.txt"),
        ("my/\x00", "my"),
        ("  ", "unnamed"),
    ],
)
def test_a46_names_as_people_see_them(name, shown):
    assert display_name(name) == shown


def test_a46_a_path_stays_on_one_line():
    assert one_line("/my\n/\u202eb \x1b[2Ja.txt") == "/my /b [2Ja.txt"


def test_a42_files_of_one_name_are_told_apart():
    places = ["/my/north/a.txt", "/my/south/a.txt", "/my/north/a.txt"]
    assert told_apart([("a.txt", place) for place in places]) == ["north/a.txt", "south/a.txt", "north/a.txt"]
    assert told_apart([("a.txt", "/x/b/a.txt"), ("a.txt", "/y/b/a.txt")]) == ["x/b/a.txt", "y/b/a.txt"]
    assert told_apart([("a.txt", "/b/a.txt"), ("a.txt", "upload:a.txt")]) == ["b/a.txt", "a.txt"]
    assert told_apart([("a.txt", "C:\\n\\a.txt"), ("a.txt", "C:\\s\\a.txt")]) == ["n/a.txt", "s/a.txt"]
    assert told_apart([("a.txt", "/my/a.txt"), ("b.txt", "/my/b.txt")]) == ["a.txt", "b.txt"]
    assert told_apart([("a.txt", ""), ("a.txt", "/my/a.txt")]) == ["a.txt", "my/a.txt"]
    assert told_apart([]) == []


def test_a_long_name_is_cut_in_front_of_its_ending():
    assert display_name("a" * 251 + ".txt") == "a" * 251 + ".txt"
    assert display_name("a" * 252 + ".txt") == "a" * 250 + "….txt"
    assert len(display_name("b" * 5000)) == 255


@pytest.mark.parametrize("name", ["", " \t", "a" * 101, "a\tb", "a\nb", "a\x00b", "a\u202eb", "a\ud800b"])
def test_a_collection_name_that_cannot_be_shown_is_refused(name):
    with pytest.raises(ConfigError, match="collection's name"):
        collection_name(name)
    assert collection_name("  " + "a" * 100 + " ") == "a" * 100
