"""Run by the Python of a vLLM: makes the models of the heavy tests. `SOURCE.gguf OUT`, or `tiny|adapter MODEL OUT`."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GgufConfig, Qwen2Config, Qwen2ForCausalLM


def converted(source: Path, out: Path) -> None:
    """The real weights of a GGUF file as a directory."""
    given = {"gguf_file": source.name, "dtype": torch.bfloat16, "quantization_config": GgufConfig(dequantize=True)}
    AutoModelForCausalLM.from_pretrained(source.parent, **given).save_pretrained(out)
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(out)


def tiny(model: Path, out: Path) -> None:
    """Random weights, four heads of 64 (SmolLM2 has nine, which no two ranks share), its tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "max_position_embeddings": 1024}
    config = Qwen2Config(**sizes, num_attention_heads=4, num_key_value_heads=2, vocab_size=len(tokenizer))
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(out)
    tokenizer.save_pretrained(out)


def adapter(model: Path, out: Path) -> None:
    """Rank 8 on the queries, large enough that the answer is another."""
    config = AutoConfig.from_pretrained(model)
    torch.manual_seed(1)
    hidden, heads = config.hidden_size, config.num_attention_heads
    width = heads * getattr(config, "head_dim", hidden // heads)
    weights = {}
    for layer in range(config.num_hidden_layers):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        weights[f"{name}.lora_A.weight"] = torch.randn(8, hidden, dtype=torch.bfloat16)
        weights[f"{name}.lora_B.weight"] = torch.randn(width, 8, dtype=torch.bfloat16)
    out.mkdir(parents=True, exist_ok=True)
    save_file(weights, out / "adapter_model.safetensors")
    said = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj"]}
    (out / "adapter_config.json").write_text(
        json.dumps({**said, "base_model_name_or_path": str(model), "bias": "none"})
    )


def main(what: str, *given: str) -> None:
    paths = [Path(each) for each in given]
    if what in {"tiny", "adapter"}:
        {"tiny": tiny, "adapter": adapter}[what](*paths)
    else:
        converted(Path(what), *paths)


if __name__ == "__main__":
    main(*sys.argv[1:])
