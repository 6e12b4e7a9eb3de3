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
        "config.json names code of its own (auto_map). The engine is given the model without it; if it cannot do "
        "without, an administrator who has read that code sets trust_remote_code.",
        "config.json 指定了自带代码（auto_map）。引擎得到的模型目录不含这些代码；若引擎必须使用，"
        "请由读过该代码的管理员设置 trust_remote_code。",
    ),
    "model_code_trusted": (
        "The engine runs code that came with the model (trust_remote_code): whoever wrote it can do what the engine "
        "can.",
        "引擎会执行模型自带的代码（trust_remote_code）：代码作者可以做引擎能做的一切。",
    ),
    "model_has_pickle": (
        "The weights are pickled (.bin, .pt): loading them can run code, and an administrator allowed it "
        "(allow_pickle). Prefer safetensors.",
        "权重为 pickle 格式（.bin、.pt）：加载时可能执行代码，管理员已允许（allow_pickle）。建议使用 safetensors。",
    ),
    "model_pickle_not_allowed": (
        "The weights in {path} are pickled (.bin, .pt): loading them can run code. Use a repository with safetensors, "
        "or let an administrator set allow_pickle on the model.",
        "{path} 中的权重为 pickle 格式（.bin、.pt）：加载时可能执行代码。"
        "请改用含 safetensors 的仓库，或由管理员在模型上设置 allow_pickle。",
    ),
    "option_needs_pickle": (
        "{option} makes the engine read pickled weights, which can run code: leave it out, or let an administrator set "
        "allow_pickle on the model.",
        "{option} 会让引擎读取 pickle 格式的权重，可能执行代码：请去掉该选项，或由管理员在模型上设置 allow_pickle。",
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
    "decision_without_facts": (
        "Nobody has told about the files of {source} yet, so nothing can be decided.",
        "尚无工作节点报告 {source} 的文件信息，无法做出决策。",
    ),
    "replay_unreadable": (
        "This is no decision that was written as JSON: {why}.",
        "这不是以 JSON 保存的决策：{why}。",
    ),
    "replay_file_unreadable": ("{path} cannot be read as JSON: {why}.", "无法将 {path} 作为 JSON 读取：{why}。"),
    "replay_same": ("The answer is the same as then.", "结果与当时一致。"),
    "replay_differs": (
        "The answer differs from the one that was written: another version of the scheduler made it, or the file was "
        "changed.",
        "结果与文件中的不同：调度器版本不同，或文件被修改过。",
    ),
    "replay_placed": ("It goes to {where}.", "放置于 {where}。"),
    "replay_refused": ("It goes nowhere: {why}", "无法放置：{why}"),
    "simulate_needs_files": (
        "Give CLUSTER and WORKLOAD, or --replay FILE alone.",
        "请给出 CLUSTER 和 WORKLOAD，或只给出 --replay FILE。",
    ),
    "scenario_unreadable": ("{path} cannot be read: {why}.", "无法读取 {path}：{why}。"),
    "scenario_no_yaml": (
        "{path}, line {line}: this is no YAML ({why}).",
        "{path} 第 {line} 行：不是合法的 YAML（{why}）。",
    ),
    "scenario_unknown_field": (
        "{path}, line {line}: {where} has no field {field}; it knows {known}.",
        "{path} 第 {line} 行：{where} 没有字段 {field}；可用字段为 {known}。",
    ),
    "scenario_missing_field": (
        "{path}, line {line}: {where} needs the field {field}.",
        "{path} 第 {line} 行：{where} 缺少字段 {field}。",
    ),
    "scenario_wrong_kind": (
        "{path}, line {line}: {where} is of the wrong kind ({why}).",
        "{path} 第 {line} 行：{where} 的类型不对（{why}）。",
    ),
    "scenario_wrong_size": (
        "{path}, line {line}: {where} is no size; write it like 512G or 4T.",
        "{path} 第 {line} 行：{where} 不是容量；请写成 512G 或 4T 的形式。",
    ),
    "scenario_no_source": (
        "{path}, line {line}: {where} needs a source (a file or directory) or a config (the fields of a config.json).",
        "{path} 第 {line} 行：{where} 需要 source（文件或目录）或 config（config.json 的字段）。",
    ),
    "scenario_too_many_replicas": (
        "{path}, line {line}: {where} needs {replica_count} replicas at the measured rates, and {most} is the most.",
        "{path} 第 {line} 行：按实测速率，{where} 需要 {replica_count} 个副本；一个模型最多 {most} 个。",
    ),
    "scenario_two_names": (
        "{path}, line {line}: the name {name} is there twice.",
        "{path} 第 {line} 行：名称 {name} 重复。",
    ),
    "plan_fits": ("All {replica_count} replicas fit.", "全部 {replica_count} 个副本都能放下。"),
    "plan_does_not_fit": (
        "{waiting_count} of {replica_count} replicas do not fit.",
        "{replica_count} 个副本中有 {waiting_count} 个放不下。",
    ),
    "plan_waits": ("{name}: {count} replicas do not fit: {why}", "{name}：{count} 个副本放不下：{why}"),
    "traffic_unknown": (
        "How many replicas its traffic needs is not known: give measured rates of one replica.",
        "未给出单副本的实测速率，无法得知所需副本数。",
    ),
    "traffic_needs": (
        "Its traffic needs {replica_count} replicas at the measured rates.",
        "按实测速率，该流量需要 {replica_count} 个副本。",
    ),
    "traffic_first_token": (
        "A prompt takes {seconds} s until the first token on an idle replica; the goal is {goal_seconds} s.",
        "空闲副本上首个 token 需 {seconds} 秒；目标为 {goal_seconds} 秒。",
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
    "reasons_more": ("... and {count} more workers.", "……另有 {count} 个工作节点。"),
    "evaluation_remedies": ("What would help:", "可行的办法："),
    "layers_on_device": (
        "{layers} of {of_layers} layers lie on the device ({device_bytes}), the rest in RAM ({ram_bytes}).",
        "{of_layers} 层中有 {layers} 层位于设备上（{device_bytes}），其余在内存中（{ram_bytes}）。",
    ),
    "memory_estimated": ("Computed from the model's files.", "由模型文件推算。"),
    "memory_measured": ("Measured on {worker} at {at}.", "于 {at} 在 {worker} 上实测。"),
    "measured_does_not_fit": (
        "On {worker} this model took {needed_bytes} of one device ({at}); the engine may take {budget_bytes}. Use more "
        "devices or a shorter context.",
        "该模型在 {worker} 上每个设备实际占用 {needed_bytes}（{at}），而引擎最多可用 {budget_bytes}。"
        "请使用更多设备或更短的上下文。",
    ),
    "memory_measured_column": ("measured", "实测"),
    "memory_on_device": ("held on the fullest device", "最满的设备上实际占用"),
    "memory_held": ("held in RAM by its processes", "进程实际占用内存"),
    "memory_graph": ("captured graphs", "捕获的计算图"),
    "memory_term": ("memory", "内存项"),
    "memory_bytes": ("size", "大小"),
    "memory_weights": ("weights", "权重"),
    "memory_kv": ("KV cache ({kv_per_token} per token)", "KV 缓存（每 token {kv_per_token}）"),
    "memory_activation": ("activations", "激活"),
    "memory_overhead": ("engine and runtime", "引擎与运行时"),
    "memory_total": ("total", "合计"),
    "memory_per_device": ("claimed on each of {device_count} devices", "{device_count} 个设备上每个占用"),
    "evaluation_files": (
        "At {revision} that is {names}: {size} to download.",
        "版本 {revision}：{names}，需下载 {size}。",
    ),
    "evaluation_files_room": ("{room} are free on the disk.", "磁盘剩余 {room}。"),
    "memory_ram": ("claimed of RAM", "占用内存"),
}
