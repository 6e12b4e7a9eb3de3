import pytest

from gpustack_lite.domain import Sentence
from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.answers import NotReady, error_type, of_refusal


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "invalid_request_error"),
        (413, "invalid_request_error"),
        (429, "rate_limit_error"),
        (502, "server_error"),
    ],
)
def test_each_status_has_openais_type(status: int, kind: str) -> None:
    assert error_type(status) == kind


def test_a_refusal_has_message_type_param_code_and_params() -> None:
    refusal = Refusal("model_not_found", status=404, param="model", model="m")
    english, chinese = of_refusal(refusal, "en")["error"], of_refusal(refusal, "zh")["error"]
    assert english == {
        "message": "The model m does not exist: GET /v1/models lists those that do.",
        "type": "invalid_request_error",
        "param": "model",
        "code": "model_not_found",
        "params": {"model": "m"},
    }
    assert isinstance(chinese, dict)
    assert "不存在" in chinese["message"]


def test_a_model_that_is_not_ready_says_why_and_how_far_it_is() -> None:
    why = Sentence("model_not_found", {"model": "x"})
    document = NotReady("m", "starting", why, {"progress": 0.5}).document("en")
    assert document["loading"] == {"progress": 0.5}
    error = document["error"]
    assert isinstance(error, dict)
    assert error["message"].startswith("The model m is not ready (it is starting): The model x")


def test_without_a_reason_the_sentence_still_says_what_to_do() -> None:
    document = NotReady("m", "pending", None, None).document("en")
    assert "loading" not in document
    assert "try again" in str(document["error"])
