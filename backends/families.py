"""Families of models by how they write reasoning and calls of tools, and what each engine calls the parser of that.

A family is told by marks of its chat template (`ModelFacts.template_signs`) and, where these do not do, by its
architecture; a model whose template nobody has read belongs to none. Names of parsers are those that the engines
register: vLLM 0.23 and 0.32 (vllm/tool_parsers, vllm/reasoning) and SGLang (srt/function_call/function_call_parser.py,
srt/parser/reasoning_parser.py). Which family takes which: `source` of each row,
    T  vLLM docs/features/tool_calling.md
    R  vLLM docs/features/reasoning_outputs.md
    P  the marks that the parser itself looks for, in the files named above
    M  MindIE-LLM docs/en/user_guide/feature/enable_reasoning.md (families, and their key below `models`) and
       function_call.md (its parser is found by the model itself)
Where several versions of a family differ in their calls, the template decides and not what people usually set: Qwen3.5
is often run with `hermes`, though its template has the model write the calls of Qwen3-Coder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gpustack_lite.domain import ModelFacts

Engine = Literal["vllm", "sglang"]


class Parsers(NamedTuple):
    """None: the engine has none for it."""

    vllm: str | None = None
    sglang: str | None = None

    def of(self, engine: Engine) -> str | None:
        return self.vllm if engine == "vllm" else self.sglang


NONE = Parsers()


@dataclass(frozen=True, slots=True)
class Family:
    """All of `signs` are in the template and none of `without`; `architectures` empty: any.

    `reasons` says by which sign the template shows that it thinks; empty: it always does. `own_template`: whether the
    template that comes with the weights tells the model of tools in a way that the parser understands.
    """

    name: str
    source: str
    tools: Parsers = NONE
    reasoning: Parsers = NONE
    architectures: frozenset[str] = frozenset()
    signs: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset({"<think>", "</think>"})
    own_template: bool = True
    off_by_default: str | None = None
    """The variable of the template by which a client switches thinking on, where it is off."""
    mindie_keys: Mapping[str, str] = field(default_factory=dict)
    """Architecture -> its key below `models` of MindIE's config.json, by which reasoning is switched on."""
    mindie_tools: frozenset[str] = frozenset()
    """Architectures whose calls of tools MindIE reads."""


_DEEPSEEK = frozenset({"DeepseekV3ForCausalLM"})
_QWEN3 = {"Qwen3ForCausalLM": "qwen3", "Qwen3MoeForCausalLM": "qwen3_moe"}

FAMILIES: tuple[Family, ...] = (
    Family(
        "gpt-oss",
        "T, P",
        Parsers("openai", "gpt-oss"),
        Parsers("openai_gptoss", "gpt-oss"),
        frozenset({"GptOssForCausalLM"}),
        reasons=frozenset(),
    ),
    Family(
        "deepseek-v3.1",
        "T, R, M",
        Parsers("deepseek_v31", "deepseekv31"),
        Parsers("deepseek_v3", "deepseek-v3"),
        _DEEPSEEK,
        frozenset({"<｜tool▁calls▁begin｜>", "thinking"}),
        own_template=False,
        off_by_default="thinking",
        mindie_keys={"DeepseekV3ForCausalLM": "deepseekv2", "DeepseekV32ForCausalLM": "deepseek_v32"},
        mindie_tools=frozenset({"DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM"}),
    ),
    Family(
        "deepseek-r1",
        "T, R",
        Parsers("deepseek_v3", "deepseekv3"),
        Parsers("deepseek_r1", "deepseek-r1"),
        signs=frozenset({"<｜Assistant｜>", "</think>"}),
        own_template=False,
    ),
    Family(
        "deepseek-v3",
        "T",
        Parsers("deepseek_v3", "deepseekv3"),
        architectures=_DEEPSEEK,
        signs=frozenset({"<｜tool▁calls▁begin｜>"}),
        own_template=False,
    ),
    Family(
        "glm-4.7",
        "T, R, P",
        Parsers("glm47", "glm47"),
        Parsers("glm45", "glm45"),
        signs=frozenset({"{function-name}<arg_key>"}),
    ),
    Family("glm-4.5", "T, R, P", Parsers("glm45", "glm45"), Parsers("glm45", "glm45"), signs=frozenset({"<arg_key>"})),
    Family(
        "step-3.5",
        "P",
        Parsers("step3p5", "step3p5"),
        Parsers("step3p5", "step3p5"),
        frozenset({"Step3p5ForCausalLM"}),
    ),
    Family(
        "nemotron-3",
        "P",
        Parsers("qwen3_coder", "qwen3_coder"),
        Parsers("nemotron_v3", "nemotron_3"),
        frozenset({"NemotronHForCausalLM"}),
        frozenset({"<function="}),
    ),
    Family(
        "qwen3-coder, qwen3.5",
        "T, R",
        Parsers("qwen3_xml", "qwen3_coder"),
        Parsers("qwen3", "qwen3"),
        signs=frozenset({"<tool_call>", "<function="}),
    ),
    Family(
        "granite-4",
        "T",
        Parsers("granite4"),
        NONE,
        frozenset({"GraniteMoeHybridForCausalLM"}),
        frozenset({"<tool_call>"}),
    ),
    Family(
        "qwq",
        "T, R",
        Parsers("hermes", "qwen25"),
        Parsers("deepseek_r1", "deepseek-r1"),
        frozenset({"Qwen2ForCausalLM"}),
        frozenset({"<tool_call>", "</think>"}),
    ),
    Family(
        "qwen3",
        "T, R, M",
        Parsers("hermes", "qwen25"),
        Parsers("qwen3", "qwen3"),
        frozenset(
            {
                *_QWEN3,
                "Qwen3NextForCausalLM",
                "Qwen3VLForConditionalGeneration",
                "Qwen3VLMoeForConditionalGeneration",
                "SmolLM3ForCausalLM",
            }
        ),
        frozenset({"<tool_call>"}),
        mindie_keys=_QWEN3,
        mindie_tools=frozenset(_QWEN3),
    ),
    Family(
        "hermes, qwen2.5",
        "T, M",
        Parsers("hermes", "hermes"),
        signs=frozenset({"<tool_call>"}),
        without=frozenset({"<think>", "</think>"}),
        mindie_tools=frozenset({"Qwen2ForCausalLM"}),
    ),
    Family(
        "minimax-m2",
        "R, P",
        Parsers("minimax_m2", "minimax-m2"),
        Parsers("minimax_m2", "minimax"),
        signs=frozenset({"<minimax:tool_call>"}),
    ),
    Family(
        "kimi-k2",
        "T, P",
        Parsers("kimi_k2", "kimi_k2"),
        Parsers("kimi_k2", "kimi_k2"),
        signs=frozenset({"<|tool_calls_section_begin|>"}),
    ),
    Family(
        "seed-oss",
        "P",
        Parsers("seed_oss"),
        Parsers("seed_oss"),
        signs=frozenset({"<seed:tool_call>"}),
        reasons=frozenset(),
    ),
    Family("longcat", "T", Parsers("longcat"), signs=frozenset({"<longcat_tool_call>"})),
    Family(
        "step-3", "P", Parsers("step3", "step3"), Parsers("step3", "step3"), signs=frozenset({"<｜tool_calls_begin｜>"})
    ),
    Family(
        "mistral",
        "T, P",
        Parsers("mistral", "mistral"),
        Parsers("mistral", "mistral"),
        signs=frozenset({"[TOOL_CALLS]"}),
        reasons=frozenset({"[THINK]"}),
    ),
    Family("llama-4", "T", Parsers("llama4_pythonic", "pythonic"), signs=frozenset({"<|python_start|>"})),
    Family("llama-3", "T", Parsers("llama3_json", "llama3"), signs=frozenset({"<|python_tag|>"})),
    Family(
        "hunyuan-a13b",
        "T, R",
        Parsers("hunyuan_a13b", "hunyuan"),
        Parsers("hunyuan_a13b", "hunyuan"),
        frozenset({"HunYuanMoEV1ForCausalLM"}),
        frozenset({"<tool_calls>"}),
    ),
    Family("jamba", "T", Parsers("jamba"), NONE, frozenset({"JambaForCausalLM"}), frozenset({"<tool_calls>"})),
    Family(
        "olmo-3",
        "T, P",
        Parsers("olmo3"),
        Parsers("olmo3"),
        frozenset({"Olmo3ForCausalLM"}),
        frozenset({"<function_calls>"}),
    ),
    Family(
        "granite-3",
        "T, R",
        Parsers("granite"),
        Parsers("granite"),
        frozenset({"GraniteForCausalLM"}),
        frozenset({"<|tool_call|>"}),
        reasons=frozenset({"thinking"}),
        off_by_default="thinking",
    ),
    Family("phi-4-mini", "P", Parsers("phi4_mini_json"), NONE, frozenset({"Phi3ForCausalLM"}), frozenset({"<|tool|>"})),
    Family("lfm2", "P", Parsers("lfm2", "lfm2"), signs=frozenset({"<|tool_call_start|>"})),
    Family("functiongemma", "T", Parsers("functiongemma"), signs=frozenset({"<start_function_call>"})),
    Family(
        "internlm2.5", "T", Parsers("internlm", "interns1"), signs=frozenset({"<|action_start|>"}), own_template=False
    ),
    Family("glm-4", "M", architectures=frozenset({"ChatGLMModel"}), mindie_tools=frozenset({"ChatGLMModel"})),
)
"""The first that fits counts."""


def family_of(facts: ModelFacts | None) -> Family | None:
    if facts is None or not facts.has_chat_template:
        return None
    signs = frozenset(facts.template_signs)
    return next((each for each in FAMILIES if _is(each, facts, signs)), None)


def _is(family: Family, facts: ModelFacts, signs: frozenset[str]) -> bool:
    is_named = not family.architectures or facts.architecture in family.architectures
    return is_named and family.signs <= signs and not family.without & signs


def tool_parser(facts: ModelFacts | None, engine: Engine) -> str | None:
    """None also where the template does not speak of tools, or not as the parser wants it."""
    family = family_of(facts)
    if family is None or facts is None or not facts.template_takes_tools or not family.own_template:
        return None
    return family.tools.of(engine)


def reasoning_parser(facts: ModelFacts | None, engine: Engine) -> str | None:
    family = family_of(facts)
    if family is None or facts is None or not reasons(family, facts):
        return None
    return family.reasoning.of(engine)


def reasons(family: Family, facts: ModelFacts) -> bool:
    return not family.reasons or bool(family.reasons.intersection(facts.template_signs))
