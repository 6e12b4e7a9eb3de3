"""Sentences of evaluate and simulate: whether a model would fit, and what to know of it."""

SENTENCES: dict[str, tuple[str, str]] = {
    "context_unknown": ("How long a context it takes is not known.", "上下文长度未知。"),
    "context_asked": ("The context of {context_length} tokens was asked for.", "上下文 {context_length} 由选项指定。"),
    "context_trained": (
        "The context of {context_length} tokens is what the model was trained for.",
        "上下文 {context_length} 即模型训练时的长度。",
    ),
    "context_shortened": (
        "The context of {context_length} tokens is the longest default that fits (the model was trained for "
        "{trained_length}).",
        "上下文 {context_length} 是能放下的最长默认值（模型训练长度为 {trained_length}）。",
    ),
    "facts_unknown": (
        "Nobody has read the files of {source}: what it needs is what the backend declares.",
        "尚未读取 {source} 的文件：所需资源以后端声明为准。",
    ),
    "model_runs_code": (
        "config.json names code of its own (auto_map): engines run it only when told to trust it.",
        "config.json 指定了自带代码（auto_map）：只有明确信任时引擎才会执行。",
    ),
    "model_has_pickle": (
        "The weights are pickled (.bin): loading them can run code. Prefer safetensors.",
        "权重为 pickle 格式（.bin）：加载时可能执行代码，建议使用 safetensors。",
    ),
    "facts_incomplete": (
        "The model's files do not say: {missing}. The estimate may be off.",
        "模型文件缺少：{missing}，估算可能不准确。",
    ),
    "weights_from_config": (
        "The weights are computed from config.json alone; the tensor headers would say it exactly.",
        "权重大小仅由 config.json 推算；读取张量头部可得精确值。",
    ),
    "quantization_not_read": (
        "{backend} does not read {quantization} weights.",
        "{backend} 不支持 {quantization} 量化权重。",
    ),
    "dtype_unsupported": (
        "{chip} does not compute in {dtype}: set the option dtype to {instead}.",
        "{chip} 不支持 {dtype} 计算：请将选项 dtype 设为 {instead}。",
    ),
    "quantization_unsupported": (
        "{chip} does not compute in {quantization}: use a W8A8 or a bfloat16 variant of the model.",
        "{chip} 不支持 {quantization}：请使用该模型的 W8A8 或 bfloat16 变体。",
    ),
    "download_exceeds_disk": (
        "{download_bytes} have to be downloaded; {worker} has {free_bytes} of disk free.",
        "需要下载 {download_bytes}；{worker} 的磁盘可用 {free_bytes}。",
    ),
    # what evaluate says
    "evaluation_fits": (
        "{source} fits: {where}, with a context of {context_length} tokens, on {backend}.",
        "{source} 可以运行：{where}，上下文 {context_length} 个 token，后端 {backend}。",
    ),
    "evaluation_fits_declared": (
        "{source} fits: {where}, on {backend}.",
        "{source} 可以运行：{where}，后端 {backend}。",
    ),
    "evaluation_does_not_fit": ("{source} does not fit: {why}", "{source} 无法运行：{why}"),
    "evaluation_remedies": ("What would help:", "可行的办法："),
    "memory_term": ("memory", "内存项"),
    "memory_bytes": ("size", "大小"),
    "memory_weights": ("weights", "权重"),
    "memory_kv": ("KV cache ({kv_per_token} per token)", "KV 缓存（每 token {kv_per_token}）"),
    "memory_activation": ("activations", "激活"),
    "memory_overhead": ("engine and runtime", "引擎与运行时"),
    "memory_total": ("total", "合计"),
    "memory_per_device": ("claimed on each of {device_count} devices", "{device_count} 个设备上每个占用"),
    "memory_ram": ("claimed of RAM", "占用内存"),
}
