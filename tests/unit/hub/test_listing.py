"""Which files of a repository a model needs."""

import pytest

from gpustack_lite.errors import Refusal
from gpustack_lite.hub.listing import HubFile, Listing, format_of, preferred, quantization_of, wanted

SAFE = {
    "config.json": 1,
    "tokenizer.json": 2,
    "model-00001-of-00002.safetensors": 50,
    "model-00002-of-00002.safetensors": 40,
}
QUANTS = {f"m-{name}.gguf": size for name, size in (("F16", 160), ("Q8_0", 80), ("Q4_K_M", 45), ("Q4_K_S", 43))}
SPLIT = {f"big/m-Q4_K_M-{number:05}-of-00003.gguf": 10 for number in (1, 2, 3)}


def listing(*held: dict[str, int]) -> Listing:
    files = {path: size for each in held for path, size in each.items()}
    return Listing("c0ffee", tuple(HubFile(path, size) for path, size in sorted(files.items())))


def paths(files: tuple[HubFile, ...]) -> list[str]:
    return [each.path for each in files]


def test_weights_are_taken_once_with_what_lies_beside_them() -> None:
    held = listing(SAFE, {"pytorch_model.bin": 90, "README.md": 1, "photo.png": 9, ".gitattributes": 1})
    assert paths(wanted(held)) == sorted([*SAFE, "README.md"])


def test_pickles_are_taken_where_there_is_nothing_else() -> None:
    held = listing({"config.json": 1, "pytorch_model.bin": 90, "tf_model.h5": 90})
    assert paths(wanted(held)) == ["config.json", "pytorch_model.bin"]


def test_the_authors_own_files_are_left_out_beside_the_usual_ones() -> None:
    held = listing(
        SAFE, {"consolidated.safetensors": 90, "original/consolidated.00.pth": 90, "original/params.json": 1}
    )
    assert paths(wanted(held)) == sorted(SAFE)


def test_consolidated_weights_alone_are_the_model() -> None:
    assert paths(wanted(listing({"params.json": 1, "consolidated.safetensors": 90}))) == [
        "consolidated.safetensors",
        "params.json",
    ]


def test_of_many_quantisations_the_usual_one_is_taken() -> None:
    assert paths(wanted(listing(QUANTS, {"mmproj-F16.gguf": 5, "README.md": 1}))) == ["m-Q4_K_M.gguf"]


def test_of_a_split_file_all_parts_are_taken() -> None:
    assert paths(wanted(listing(SPLIT, QUANTS | {"m-Q4_K_M.gguf": 99}))) == list(SPLIT)


def test_a_missing_part_is_named() -> None:
    with pytest.raises(Refusal, match="gguf_part_missing"):
        wanted(listing({"m-Q4_K_M-00001-of-00002.gguf": 1}))


def test_include_chooses() -> None:
    assert paths(wanted(listing(QUANTS), ["*Q8_0*"])) == ["m-Q8_0.gguf"]


def test_include_of_one_part_means_all_of_them() -> None:
    assert paths(wanted(listing(SPLIT), ["big/*00002-of*"])) == list(SPLIT)


def test_include_of_weights_brings_the_small_files_that_they_need() -> None:
    held = listing(SAFE, {"fp32/model.safetensors": 200})
    assert paths(wanted(held, ["model-*"])) == sorted(SAFE)


def test_include_that_matches_nothing_names_what_there_is() -> None:
    with pytest.raises(Refusal) as refused:
        wanted(listing(QUANTS), ["*Q2_K*"])
    assert refused.value.code == "hub_nothing_included"
    assert "m-Q4_K_M.gguf" in str(refused.value.params["names"])


def test_an_engine_that_reads_gguf_gets_it_from_a_repository_that_holds_both() -> None:
    held = listing(SAFE, QUANTS)
    assert format_of(held) == "hf"
    assert paths(wanted(held, form="gguf")) == ["m-Q4_K_M.gguf"]


def test_the_choice_is_the_same_whatever_the_order() -> None:
    files = [HubFile("b-Q4_K_M.gguf", 5), HubFile("a-Q4_K_M.gguf", 5)]
    assert preferred(files).path == preferred(files[::-1]).path == "a-Q4_K_M.gguf"


@pytest.mark.parametrize(
    ("name", "said"),
    [("m-q4_k_m.gguf", "Q4_K_M"), ("m-Q4_K_M-00001-of-00002.gguf", "Q4_K_M"), ("m-F16.gguf", "F16"), ("m.gguf", None)],
)
def test_a_quantisation_is_read_from_the_name(name: str, said: str | None) -> None:
    assert quantization_of(name) == said


def test_the_digest_changes_with_a_file() -> None:
    assert listing(SAFE).digest != listing(SAFE | {"config.json": 3}).digest
