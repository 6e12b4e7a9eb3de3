"""The whole description again, with many more examples of each route than the suite has time for."""

from collections.abc import Iterator

import pytest
from schemathesis import GenerationMode
from schemathesis.schemas import APIOperation

from tests.security.described import Described, an_api, has_rules, hold, operations

pytestmark = pytest.mark.slow
EXAMPLES = 200
OPERATIONS = operations()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    with an_api(tmp_path_factory.mktemp("described")) as each:
        yield each


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.label)
def test_many_things_that_it_allows(api: Described, operation: APIOperation) -> None:
    hold(api, operation, GenerationMode.POSITIVE, EXAMPLES)


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if has_rules(each)], ids=lambda each: each.label)
def test_many_things_that_it_does_not_allow(api: Described, operation: APIOperation) -> None:
    hold(api, operation, GenerationMode.NEGATIVE, EXAMPLES)
