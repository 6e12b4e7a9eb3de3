"""Sentences about vLLM and its kin: what a model will not do under its options, and what a chip does not take."""

SENTENCES: dict[str, tuple[str, str]] = {
    "options_passed_on": (
        "{backend} gets these options as they are, for nobody here knows them: {options}. If it refuses one, it does "
        "not start.",
        "以下选项未被识别，将原样传给 {backend}：{options}。若引擎拒绝，则无法启动。",
    ),
    "tools_not_parsed": (
        "The chat template takes tools, but how this model writes its calls is not known: clients will get them as "
        "text. Set tool-call-parser if the engine has a parser for it.",
        "对话模板支持工具，但不清楚该模型如何书写调用：客户端将收到普通文本。"
        "若引擎有相应解析器，请设置 tool-call-parser。",
    ),
    "tools_need_template": (
        "The chat template that came with the weights does not offer tools as the parser reads them: calls of tools "
        "are off. Give one that does as the option chat-template (vLLM has it in its examples).",
        "权重自带的对话模板不以解析器可读的方式提供工具：工具调用已关闭。"
        "请用选项 chat-template 提供合适的模板（vLLM 的 examples 中有）。",
    ),
    "tools_need_parser": (
        "Tools cannot be called without a parser, and none is known for {architecture}: set tool-call-parser, or leave "
        "enable-auto-tool-choice out.",
        "没有解析器就无法调用工具，且 {architecture} 没有已知的解析器："
        "请设置 tool-call-parser，或去掉 enable-auto-tool-choice。",
    ),
    "reasoning_not_split": (
        "The model thinks before it answers, but how it writes that is not known: thoughts will stand in the answer. "
        "Set reasoning-parser if the engine has a parser for it.",
        "该模型先思考再回答，但不清楚其书写方式：思考内容会出现在回答中。若引擎有相应解析器，请设置 reasoning-parser。",
    ),
    "thinking_off_by_default": (
        "The model thinks only where it is asked to: by chat_template_kwargs {{{variable}: true}} in a request, or by "
        "default-chat-template-kwargs for all.",
        "该模型仅在要求时思考：在请求中设置 chat_template_kwargs {{{variable}: true}}，"
        "或用 default-chat-template-kwargs 对所有请求生效。",
    ),
    "chat_template_missing": (
        "There is no chat template beside the weights: chat requests will be refused. Give one as the option "
        "chat-template, or use /v1/completions.",
        "权重旁没有对话模板：对话请求会被拒绝。请用选项 chat-template 提供，或使用 /v1/completions。",
    ),
    "quantization_needs_modelslim": (
        "quantization ascend reads ModelSlim's weights only, and there is no quant_model_description*.json beside "
        "these: leave the option out.",
        "quantization ascend 仅用于 ModelSlim 权重，而此处没有 quant_model_description*.json：请去掉该选项。",
    ),
    "option_not_on_chip": (
        "{chip} does not take the option {option}: leave it out, or use another device.",
        "{chip} 不支持选项 {option}：请去掉它，或使用其他设备。",
    ),
    "model_unlisted_on_chip": (
        "vLLM-Ascend documents only {models} for {chip}; {architecture} may not run there.",
        "vLLM-Ascend 文档中 {chip} 仅支持 {models}；{architecture} 可能无法运行。",
    ),
    "context_beyond_documented": (
        "vLLM-Ascend documents contexts of up to {documented} tokens for this model on {chip}: set max-model-len.",
        "vLLM-Ascend 文档中该模型在 {chip} 上的上下文最长为 {documented}：请设置 max-model-len。",
    ),
}
