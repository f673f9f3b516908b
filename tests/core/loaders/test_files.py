import pytest

from core.errors import ConfigError, DocumentError
from core.loaders import find_files
from core.loaders.files import source_of


@pytest.fixture
def folder(tmp_path):
    for name in ("a.md", "b.txt", ".hidden.md", "sub/c.md", "sub/deep/d.md", ".git/e.md", "sub/[x].md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(folder, **options) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in find_files(folder, **options)]


def test_own_files_or_all_below_sorted(folder):
    assert names(folder) == ["a.md", "b.txt"]
    assert names(folder, recursive=True) == ["a.md", "b.txt", "sub/[x].md", "sub/c.md", "sub/deep/d.md"]


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.md", ["a.md"]),
        ("**/*.md", ["a.md", "sub/[x].md", "sub/c.md", "sub/deep/d.md"]),
        ("sub/*.md", ["sub/[x].md", "sub/c.md"]),
        ("sub/**", ["sub/[x].md", "sub/c.md", "sub/deep/d.md"]),
        ("?.[mt]*", ["a.md", "b.txt"]),
        ("[!a].*", ["b.txt"]),
        ("**/[[]x].md", ["sub/[x].md"]),
        ("sub", []),
    ],
)
def test_globs(folder, glob, found):
    assert names(folder, recursive=True, glob=glob) == found


def test_a_regex_matches_the_whole_path(folder):
    assert names(folder, recursive=True, regex=r"sub/.*\.md") == ["sub/[x].md", "sub/c.md", "sub/deep/d.md"]
    assert names(folder, recursive=True, regex="sub") == []


def test_wrong_requests_say_so(folder):
    with pytest.raises(ConfigError, match="can't be given together"):
        find_files(folder, glob="*", regex=".*")
    with pytest.raises(ConfigError, match=r"^'\(' is no valid pattern"):
        find_files(folder, regex="(")
    with pytest.raises(DocumentError, match=r"^'nowhere' is no folder; check the path"):
        find_files(folder / "nowhere")


def test_one_file_has_one_source_however_its_path_was_typed(folder, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(folder / "sub")
    (folder / "sub" / "alias.md").symlink_to(folder / "a.md")
    monkeypatch.chdir(folder / "sub")
    spellings = ["c.md", "./c.md", "../sub/c.md", "deep/../c.md", folder / "sub" / "c.md", tmp_path / "link" / "c.md"]
    assert {source_of(spelling) for spelling in spellings} == {(folder / "sub").resolve() / "c.md"}
    assert source_of("alias.md") == (folder / "sub").resolve() / "alias.md"


def test_links_that_go_round_in_circles_have_a_source_too(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert source_of(tmp_path / "loop" / "a.md").name == "a.md"
