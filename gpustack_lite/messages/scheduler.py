"""Sentences of the scheduler: why a worker cannot take a replica, and what would help."""

SENTENCES: dict[str, tuple[str, str]] = {
    # reasons
    "no_workers": ("No worker has joined yet.", "还没有工作节点加入。"),
    "nothing_claimed": (
        "The backend named no way to run this model: choose another backend or other options.",
        "后端没有给出运行该模型的任何方式：请更换后端或选项。",
    ),
    "worker_silent": ("{worker} does not answer.", "{worker} 没有响应。"),
    "labels_differ": ("{worker} does not carry the labels {labels}.", "{worker} 没有标签 {labels}。"),
    "backend_missing": ("{worker} cannot run the backend {backend}.", "{worker} 无法运行后端 {backend}。"),
    "chosen_worker_unknown": (
        "The chosen devices {devices} are on {worker}, which is no worker here.",
        "所选设备 {devices} 属于 {worker}，但没有这个工作节点。",
    ),
    "chosen_device_unknown": ("{worker} has no device {device}.", "{worker} 没有设备 {device}。"),
    "chosen_on_several_workers": (
        "The chosen devices {devices} are on several workers; one replica runs on devices of one worker.",
        "所选设备 {devices} 分布在多个工作节点上；一个副本只能使用同一工作节点的设备。",
    ),
    "chosen_count_differs": (
        "Chosen devices on {worker}: {chosen_count}; a replica runs on {counts}.",
        "{worker} 上已选设备 {chosen_count} 个；一个副本可使用的设备数为 {counts}。",
    ),
    "heads_do_not_divide": (
        "Chosen devices: {chosen_count}, but the {head_count} attention heads of the model cannot be shared out evenly "
        "over them; a replica runs on {counts}.",
        "已选设备 {chosen_count} 个，但模型的 {head_count} 个注意力头无法在其上均分；"
        "一个副本可使用的设备数为 {counts}。",
    ),
    "chosen_worker_not_wished": (
        "The chosen devices {devices} are on {worker}, which is not among the workers asked for: {workers}.",
        "所选设备 {devices} 属于 {worker}，但它不在指定的工作节点 {workers} 中。",
    ),
    "wished_workers_unknown": (
        "None of the workers asked for has joined: {workers}.",
        "指定的工作节点都未加入：{workers}。",
    ),
    "drained": (
        "{worker} is drained: what runs there goes on, nothing new is placed.",
        "{worker} 已停止接收：其上已有实例继续运行，但不再放置新的实例。",
    ),
    "replica_is_here": (
        "{worker} already holds a replica of {model}, and its replicas are to be apart.",
        "{worker} 上已有 {model} 的副本，而该模型要求各副本分开放置。",
    ),
    "reading_stale": (
        "What others use on {worker} was last read {age_seconds} s ago; readings older than {limit_seconds} s are not "
        "trusted.",
        "{worker} 上其他进程的占用在 {age_seconds} 秒前读取；超过 {limit_seconds} 秒的读数不予采信。",
    ),
    "kind_missing": ("{worker} has no device of kind {kinds}.", "{worker} 没有 {kinds} 类型的设备。"),
    "chip_missing": (
        "{worker} has no {chips}, only {there}.",
        "{worker} 没有 {chips}，只有 {there}。",
    ),
    "too_few_devices": (
        "Devices of one chip on {worker}: {device_count}; a replica needs {needed_count}.",
        "一个副本需要 {needed_count} 个同型号设备，{worker} 只有 {device_count} 个。",
    ),
    "devices_not_usable": (
        "Healthy, schedulable devices on {worker}: {usable_count}; a replica needs {needed_count}.",
        "一个副本需要 {needed_count} 个健康且可调度的设备，{worker} 只有 {usable_count} 个。",
    ),
    "device_memory_unknown": (
        "Devices of {worker} whose memory can be read: {known_count}; a replica needs {needed_count}.",
        "{worker} 上能读取显存的设备有 {known_count} 个；一个副本需要 {needed_count} 个。",
    ),
    "not_enough_device_memory": (
        "A replica needs {needed_count} x {needed_bytes} of device memory; {worker} has {free_bytes} free per {chip}.",
        "一个副本需要 {needed_count} x {needed_bytes} 显存；{worker} 每个 {chip} 可用 {free_bytes}。",
    ),
    "not_enough_memory_for_terms": (
        "A replica needs {terms} on each of {needed_count} x {chip}; of {usable_bytes} usable, {worker} has "
        "{free_bytes} free.",
        "一个副本在 {needed_count} 个 {chip} 上各需要 {terms}；"
        "{worker} 上可用总量为 {usable_bytes}，其中空闲 {free_bytes}。",
    ),
    "not_enough_memory_as_measured": (
        "A replica needs {terms} on each of {needed_count} x {chip}, as measured on {measured_on} at {measured_at}; of "
        "{usable_bytes} usable, {worker} has {free_bytes} free.",
        "一个副本在 {needed_count} 个 {chip} 上各需要 {terms}（于 {measured_at} 在 {measured_on} 上实测）；"
        "{worker} 上可用总量为 {usable_bytes}，其中空闲 {free_bytes}。",
    ),
    "foreign_memory": (
        "A replica needs {needed_count} x {needed_bytes} of device memory; on {worker} somebody else than this "
        "platform uses {foreign_bytes} of a {chip}, and {free_bytes} are left.",
        "一个副本需要 {needed_count} x {needed_bytes} 显存；{worker} 上平台以外的进程占用了 {chip} 的 {foreign_bytes}，"
        "仅剩 {free_bytes}。",
    ),
    "not_enough_unified_memory": (
        "Devices of {worker} share the RAM; a replica needs {needed_bytes} of both together, {free_bytes} are free.",
        "{worker} 的设备与内存共用一个池；一个副本合计需要 {needed_bytes}，可用 {free_bytes}。",
    ),
    "chips_taken": (
        "Whole chips that nobody holds and that fit on {worker}: {untaken_count}; a replica takes {needed_count}.",
        "{worker} 上无人占用且容量足够的整芯片有 {untaken_count} 个；一个副本独占 {needed_count} 个。",
    ),
    "ram_unknown": (
        "The RAM of {worker} cannot be read; a replica needs {needed_bytes}.",
        "无法读取 {worker} 的内存；一个副本需要 {needed_bytes}。",
    ),
    "not_enough_ram": (
        "A replica needs {needed_bytes} of RAM, {worker} has {free_bytes} free.",
        "一个副本需要 {needed_bytes} 内存，{worker} 可用 {free_bytes}。",
    ),
    "not_enough_ram_as_measured": (
        "A replica needs {needed_bytes} of RAM, as measured on {measured_on} at {measured_at}; {worker} has "
        "{free_bytes} free.",
        "一个副本需要 {needed_bytes} 内存（于 {measured_at} 在 {measured_on} 上实测），{worker} 可用 {free_bytes}。",
    ),
    "disk_unknown": (
        "The free disk of {worker} cannot be read; {needed_bytes} of model files are to be brought there.",
        "无法读取 {worker} 的可用磁盘；需要在其上存放 {needed_bytes} 模型文件。",
    ),
    "not_enough_disk": (
        "{needed_bytes} of model files are to be brought to {worker}; its disk has {free_bytes} free.",
        "需要在 {worker} 上存放 {needed_bytes} 模型文件；其磁盘可用 {free_bytes}。",
    ),
    "too_few_workers": (
        "A replica needs {needed_count} workers with the same chip in one network; {able_count} could serve together.",
        "一个副本需要同一网络中芯片相同的 {needed_count} 个工作节点；目前能够协同的有 {able_count} 个。",
    ),
    "networks_differ": (
        "A replica needs {needed_count} workers in one network. Enough would do, but they carry different labels "
        "network: {workers}.",
        "一个副本需要同一网络中的 {needed_count} 个工作节点。数量足够，但 network 标签各不相同：{workers}。",
    ),
    # remedies
    "label_network": (
        "Give workers that reach each other fast the same label {label} (`join --labels {label}=NAME`).",
        "为彼此高速互通的工作节点设置相同的标签 {label}（`join --labels {label}=名称`）。",
    ),
    "free_disk": (
        "Free {missing_bytes} of disk on {worker}, or bring the files there by hand.",
        "在 {worker} 上释放 {missing_bytes} 磁盘空间，或手动放置模型文件。",
    ),
    "resume_worker": (
        "Let {worker} take new instances again: gpustack-lite workers resume {worker}.",
        "让 {worker} 重新接收实例：gpustack-lite workers resume {worker}。",
    ),
    "wait_for_reading": (
        "Wait for the next heartbeat of {worker}; if none comes, look at the worker.",
        "等待 {worker} 的下一次心跳；若一直没有，请检查该工作节点。",
    ),
    "allow_together": (
        "Join another worker, or let replicas of the model share one.",
        "请加入另一个工作节点，或允许该模型的副本放在同一节点。",
    ),
    "allow_chips": (
        "Allow other chips for the model than {chips}.",
        "请允许该模型使用 {chips} 以外的芯片。",
    ),
    "allow_workers": (
        "Allow other workers for the model than {workers}.",
        "请允许该模型使用 {workers} 以外的工作节点。",
    ),
    "free_device_memory": (
        "Others use the device memory of {worker}: end them so that {device_count} x {missing_bytes} more is free.",
        "{worker} 的显存被其他程序占用：请结束它们，再释放 {device_count} x {missing_bytes}。",
    ),
    "free_ram": (
        "Others use the RAM of {worker}: end them so that {missing_bytes} more is free.",
        "{worker} 的内存被其他程序占用：请结束它们，再释放 {missing_bytes}。",
    ),
    "stop_instances": (
        "Stop these instances on {worker} (or scale their models down): {instances}.",
        "停止 {worker} 上的这些实例（或缩减其模型的副本数）：{instances}。",
    ),
    "shorten_context": (
        "Ask for a context of {context_length} tokens: that fits on {worker}.",
        "将上下文缩短为 {context_length} 个 token：可放入 {worker}。",
    ),
    "use_more_devices": (
        "Spread a replica over {device_count} devices: that fits on {worker}.",
        "让一个副本使用 {device_count} 个设备：可放入 {worker}。",
    ),
    "use_more_devices_elsewhere": (
        "Spread a replica over {device_count} devices, and join a worker that has {device_count} x {chips} with "
        "{needed_bytes} of free memory each.",
        "让一个副本使用 {device_count} 个设备，并加入一个有 {device_count} 个 {chips} 且每个可用显存 {needed_bytes} "
        "的工作节点。",
    ),
    "use_variant": (
        "Use the variant {source}: that fits on {worker}.",
        "使用变体 {source}：可放入 {worker}。",
    ),
    "share_chips": (
        "Let replicas share chips (placement.share_chips).",
        "允许副本共享芯片（placement.share_chips）。",
    ),
    "uncordon": ("Uncordon these devices: {devices}.", "解除这些设备的停用：{devices}。"),
    "mend_devices": (
        "Mend these devices of {worker}, which raise an alarm: {devices}.",
        "修复 {worker} 上告警的设备：{devices}。",
    ),
    "ask_doctor": (
        "Run gpustack-lite doctor on {worker}: it says why the reading is missing.",
        "请在 {worker} 上运行 gpustack-lite doctor，查看读数缺失的原因。",
    ),
    "join_worker": (
        "Join a worker: gpustack-lite workers token shows the command.",
        "请加入工作节点：gpustack-lite workers token 会给出命令。",
    ),
    "join_worker_with_devices": (
        "Join a worker that has {needed_count} x {chips} with {needed_bytes} of free memory each.",
        "请加入一个有 {needed_count} 个 {chips} 且每个可用显存 {needed_bytes} 的工作节点。",
    ),
    "join_worker_with_ram": (
        "Join a worker that has {needed_bytes} of free RAM.",
        "请加入一个可用内存 {needed_bytes} 的工作节点。",
    ),
    "join_labelled_worker": (
        "Join a worker with the labels {labels} that is empty and big enough.",
        "请加入一个带有标签 {labels} 且空闲容量足够的工作节点。",
    ),
    "start_worker": ("Start the worker {worker} again.", "请重新启动工作节点 {worker}。"),
    "change_labels": (
        "Ask for the model without the labels {labels}: then it fits on {worker}.",
        "在模型中去掉标签要求 {labels}：可放入 {worker}。",
    ),
    "label_worker": ("Give {worker} the labels {labels}.", "为 {worker} 添加标签 {labels}。"),
    "choose_other_devices": (
        "Choose other devices than {devices}, or let the scheduler choose.",
        "请选择 {devices} 以外的设备，或交给调度器选择。",
    ),
    "bring_backend": (
        "Make {backend} available on {worker}, or choose another backend.",
        "请在 {worker} 上提供 {backend}，或选择其他后端。",
    ),
}
