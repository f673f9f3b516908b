from core.filters import IsIn, metadata_key
from core.metadata import Metadata
from core.query import Query
from core.rag.scope import Scope, scope_filter, scope_of


def test_everything_needs_no_filter():
    assert Scope().as_filter() is None
    assert scope_of(Query("q")) == Scope()
    assert scope_filter(Query("q")) is None


def test_one_condition_stands_alone():
    assert Scope(document_ids=(1, 2)).as_filter() == IsIn("document_id", (1, 2))


def test_all_conditions_must_hold():
    scope = Scope("tax", (1,), metadata_key("page").is_less_than(3)).as_filter()
    assert scope.matches(Metadata({"collection": "tax", "document_id": 1, "page": 2}))
    for other in ({"collection": "law"}, {"document_id": 2}, {"page": 3}):
        assert not scope.matches(Metadata({"collection": "tax", "document_id": 1, "page": 2} | other))
