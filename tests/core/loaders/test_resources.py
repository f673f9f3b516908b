import pytest

from core.errors import DocumentError
from core.loaders import load_resource


def test_a_file_inside_a_package():
    document = load_resource("core.loaders", "__init__.py")
    assert "Loaders: where documents come from" in document.text
    assert document.metadata.get_string("source") == "package:core.loaders/__init__.py"
    assert document.metadata.get_string("file_name") == "__init__.py"


@pytest.mark.parametrize(("package", "path"), [("core.loaders", "nothing.txt"), ("no_such_package", "a.txt")])
def test_what_is_not_there_says_so(package, path):
    with pytest.raises(DocumentError, match=r"isn't in package '.*'; check both names"):
        load_resource(package, path)
