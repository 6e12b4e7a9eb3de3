from gpustack_lite.gateway.anthropic.models import model, page

OURS = {"id": "m", "object": "model", "created": 86_400, "context_length": 4096}


def test_a_model_has_anthropics_fields_beside_ours() -> None:
    found = model(OURS)
    assert found.items() >= OURS.items()
    assert (found["type"], found["display_name"], found["created_at"]) == ("model", "m", "1970-01-02T00:00:00+00:00")
    assert found["max_input_tokens"] == 4096


def test_all_models_are_on_one_page() -> None:
    found = page([OURS, {**OURS, "id": "n"}])
    assert (found["first_id"], found["last_id"], found["has_more"], found["object"]) == ("m", "n", False, "list")
    assert page([])["first_id"] is None
