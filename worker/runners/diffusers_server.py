"""Images behind OpenAI's /v1/images/generations: any text-to-image pipeline of diffusers, one request at a time.

Run by path with `python -I diffusers_server.py --model DIRECTORY --alias NAME --port P`, in an environment that has
torch, transformers and diffusers. Weights are read from safetensors alone, and no code that lies beside them is run.
"""

import base64
import io
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from small_server import Failed, Refused, Turn, as_json, library, parser, run

PROG = "diffusers_server"
MOST_IMAGES = 8
MOST_PIXELS = 2048 * 2048
FORMS = {"png": "PNG", "jpeg": "JPEG", "webp": "WEBP"}
SIZE = re.compile(r"([0-9]{2,4})x([0-9]{2,4})")
STEP_PIXELS = 8


def arguments():
    made = parser(PROG)
    made.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), default="float32")
    made.add_argument("--steps", type=int, default=25)
    return made


def load(given):
    torch, diffusers = library(lambda: (__import__("torch"), __import__("diffusers")))
    torch.set_num_threads(given.threads)
    try:
        pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(
            given.model, local_files_only=True, use_safetensors=True, dtype=getattr(torch, given.dtype)
        )
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError) as error:
        raise Failed(f"{given.model} could not be served: {' '.join(str(error).split())[:500]}") from error
    pipeline.set_progress_bar_config(disable=True)
    return {"/v1/images/generations": Painter(torch, pipeline, given).paint}


class Left(Exception):
    """Nobody waits for the picture any more."""


class Painter:
    def __init__(self, torch, pipeline, given):
        self.torch = torch
        self.pipeline = pipeline
        self.steps = given.steps
        self.turn = Turn()

    def paint(self, asked):
        prompt = asked.text("prompt") or ""
        if not prompt.strip():
            raise Refused(400, "prompt must be a text", param="prompt")
        if asked.says("stream") or asked.text("response_format", "b64_json") != "b64_json":
            raise Refused(400, "images are answered whole, as b64_json", param="response_format")
        form = asked.one_of("output_format", tuple(FORMS), "png")
        count = asked.whole("n", 1, 1, MOST_IMAGES)
        settings = self.settings(asked)
        with self.turn:
            images = [self.painted(asked, prompt, settings, number) for number in range(count)]
        data = [{"b64_json": base64.b64encode(written(each, FORMS[form])).decode()} for each in images]
        return as_json({"created": int(time.time()), "output_format": form, "data": data})

    def settings(self, asked):
        """`steps`, `guidance_scale`, `negative_prompt` and `seed` are none of OpenAI's, and taken where given."""
        made = {"num_inference_steps": asked.whole("steps", self.steps, 1, 200)}
        guidance = asked.number("guidance_scale", None, 0.0, 50.0)
        size = asked.text("size", "auto")
        if size not in {"auto", ""}:
            made["width"], made["height"] = sides(size)
        if guidance is not None:
            made["guidance_scale"] = guidance
        if asked.text("negative_prompt"):
            made["negative_prompt"] = asked.text("negative_prompt")
        return made

    def painted(self, asked, prompt, settings, number):
        """One after the other: several at once would need as much more memory."""
        seed = asked.whole("seed", None, 0, 2**63 - MOST_IMAGES)
        dice = None if seed is None else self.torch.Generator().manual_seed(seed + number)
        try:
            found = self.pipeline(prompt, generator=dice, callback_on_step_end=stopping(asked), **settings)
        except (ValueError, TypeError, RuntimeError) as error:
            raise Refused(400, f"the pipeline refuses this: {error}", "pipeline_refused") from error
        except Left as left:
            raise ConnectionAbortedError from left
        return found.images[0]


def stopping(asked):
    def after_a_step(pipeline, step, timestep, tensors):
        if asked.has_left():
            raise Left
        return tensors

    return after_a_step


def sides(size):
    match = SIZE.fullmatch(size)
    width, height = (int(match[1]), int(match[2])) if match else (0, 0)
    if not match or width % STEP_PIXELS or height % STEP_PIXELS or width * height > MOST_PIXELS:
        raise Refused(400, f"size must be WIDTHxHEIGHT in steps of {STEP_PIXELS}, or auto", param="size")
    return width, height


def written(image, form):
    target = io.BytesIO()
    image.save(target, form)
    return target.getvalue()


def main(argv):
    return run(PROG, argv, arguments(), load)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
