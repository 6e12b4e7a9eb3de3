"""Sentences of the worker."""

SENTENCES: dict[str, tuple[str, str]] = {
    # the server
    "bad_server_url": (
        "{url} is no address of a server: write it like http://127.0.0.1:9090.",
        "{url} 不是有效的服务器地址：请写成 http://127.0.0.1:9090 这样的形式。",
    ),
    "server_needs_tls": (
        "Joining {host} over plain http is refused, because credentials would cross the network unprotected: "
        "this version joins servers on this machine only (http://127.0.0.1:PORT).",
        "拒绝以明文 http 加入 {host}，因为凭据会在网络上裸露：此版本只能加入本机的服务器（http://127.0.0.1:端口）。",
    ),
    "join_token_missing": (
        "A token is needed to join {server}: make one there with `gpustack-lite workers token`.",
        "加入 {server} 需要令牌：请在服务器上运行 `gpustack-lite workers token` 生成。",
    ),
    "worker_forgotten": (
        "The server {server} does not know this worker any more: join again with a new token.",
        "服务器 {server} 已不认识此工作节点：请用新令牌重新加入。",
    ),
    "server_refused": (
        "The server {server} refused with status {answer_status}.",
        "服务器 {server} 拒绝了请求，状态码 {answer_status}。",
    ),
    "bad_labels": (
        "{labels} are no labels: write them like zone=a,rack=7.",
        "{labels} 不是有效的标签：请写成 zone=a,rack=7 这样的形式。",
    ),
    # confinement of engines
    "engine_user_unknown": (
        "engine_user is {name}, and this machine has no such account: make it, for example with "
        "`useradd --system --no-create-home --shell /usr/sbin/nologin {name}`.",
        "engine_user 设为 {name}，但此机器上没有该账户：请先创建，例如运行 "
        "`useradd --system --no-create-home --shell /usr/sbin/nologin {name}`。",
    ),
    "engine_user_is_root": (
        "engine_user is {name}, which is root: name an account without rights, or leave the setting out.",
        "engine_user 设为 {name}，而它是 root：请指定一个没有特权的账户，或不设置此项。",
    ),
    "engine_user_needs_root": (
        "engine_user is {name}, but only a worker that is started as root may run engines as somebody else.",
        "engine_user 设为 {name}，但只有以 root 启动的工作节点才能以其他账户运行引擎。",
    ),
    "confinement_no_groups": (
        "No control groups (cgroup v2) can be made here: a program that an engine hides from us by forking twice and "
        "clearing its environment would outlive it.",
        "此处无法创建控制组（cgroup v2）：若引擎通过两次 fork 并清空环境变量隐藏进程，该进程会在引擎结束后继续存活。",
    ),
    "confinement_no_limit": (
        "The setting {limit} has no effect here: no controller of control groups (cgroup v2) is delegated to us.",
        "设置 {limit} 在此处不起作用：没有控制组（cgroup v2）的控制器委派给本程序。",
    ),
    "confinement_how": (
        "Start the worker by the systemd unit of docs/confinement.md (Delegate=yes), or leave it as it is.",
        "请使用 docs/confinement.md 中的 systemd 单元（Delegate=yes）启动工作节点，或保持现状。",
    ),
    # devices
    "simulate_file_unreadable": (
        "The file of simulated devices {path} cannot be read: {why}.",
        "无法读取模拟设备文件 {path}：{why}。",
    ),
    "simulate_no_mapping": (
        "In {path}, {where} must be a mapping of names to values.",
        "{path} 中的 {where} 必须是键值映射。",
    ),
    "simulate_no_devices": (
        "In {path}, {where} must be a list of at least one device.",
        "{path} 中的 {where} 必须是至少含一个设备的列表。",
    ),
    "simulate_no_chip": (
        "In {path}, {where} must name a chip, such as 910B3.",
        "{path} 中的 {where} 必须是芯片名称，例如 910B3。",
    ),
    "simulate_no_memory": (
        "In {path}, {where} is missing: write memory: 64G or memory_bytes: 68719476736.",
        "{path} 中缺少 {where}：请写 memory: 64G 或 memory_bytes: 68719476736。",
    ),
    "simulate_unknown_key": (
        "In {path}, {where} has the key {key}, which is not known; known are {known}.",
        "{path} 的 {where} 中有未知的键 {key}；可用的键为 {known}。",
    ),
    "simulate_bad_size": (
        "In {path}, {where} must be a number with a unit, such as 64G.",
        "{path} 中的 {where} 必须是带单位的数字，例如 64G。",
    ),
    "simulate_not_positive": (
        "In {path}, {where} must be a whole number of at least 1.",
        "{path} 中的 {where} 必须是不小于 1 的整数。",
    ),
    "simulate_too_many": (
        "In {path}, {where} are too many: one worker has at most {most}.",
        "{path} 中的 {where} 过多：一个工作节点最多 {most} 个。",
    ),
    # files
    "facts_timeout": (
        "The worker could not read {source} within {seconds} seconds: check that its file system answers.",
        "工作节点未能在 {seconds} 秒内读取 {source}：请检查其文件系统是否响应。",
    ),
    # engine ports
    "bad_engine_ports": (
        "{value} is no range of ports: write it like 21000-21999, from 1024 to 65535.",
        "{value} 不是有效的端口范围：请写成 21000-21999 这样的形式，介于 1024 与 65535 之间。",
    ),
    "no_free_engine_port": (
        "No port from {first} to {last} is free for the engine: free some, or widen the worker's setting engine_ports.",
        "端口 {first} 到 {last} 均被占用：请释放一些，或放宽工作节点的 engine_ports 设置。",
    ),
    "engine_port_taken": (
        "Port {port} was taken by another program before the engine could use it; it is started again on another one.",
        "端口 {port} 在引擎使用之前已被其他程序占用，正在改用其他端口重新启动。",
    ),
    # engines
    "env_not_allowed": (
        "The variable {name} may not be set for a model: remove it from env.",
        "不允许为模型设置变量 {name}：请将其从 env 中移除。",
    ),
    "engine_cannot_start": (
        "The engine {program} cannot be started: {why}.",
        "无法启动引擎 {program}：{why}。",
    ),
    "engine_file_escapes": (
        "The engine's file {file} would lie outside its working directory.",
        "引擎文件 {file} 将落在其工作目录之外。",
    ),
    "backend_version_unknown": (
        "This worker has no version {version} of {backend}; it has {known}.",
        "此工作节点没有 {backend} 的 {version} 版本；可用版本：{known}。",
    ),
    "devices_gone": (
        "Of the devices {wanted} the worker finds only {found}.",
        "在设备 {wanted} 中，工作节点只找到 {found}。",
    ),
    "engine_exited": (
        "The engine ended with exit code {exit_code}. Its last words: {last_line}",
        "引擎已退出，退出码 {exit_code}。最后的输出：{last_line}",
    ),
    "engine_killed": (
        "The engine was ended by signal {signal}. Its last words: {last_line}",
        "引擎被信号 {signal} 终止。最后的输出：{last_line}",
    ),
    "engine_killed_9": (
        "The engine was killed (signal SIGKILL), by a person or because memory ran out. Its last words: {last_line}",
        "引擎被强制终止（信号 SIGKILL），可能是人为操作或内存耗尽。最后的输出：{last_line}",
    ),
    "engine_vanished": (
        "The engine has ended. Its last words: {last_line}",
        "引擎已结束。最后的输出：{last_line}",
    ),
    "engine_too_slow": (
        "The engine was not ready after {seconds} s and made no more progress. Its last words: {last_line}",
        "引擎在 {seconds} 秒后仍未就绪且没有进展。最后的输出：{last_line}",
    ),
    "engine_unhealthy": (
        "The engine does not answer its health check {path} (port {port}).",
        "引擎没有响应健康检查 {path}（端口 {port}）。",
    ),
    "engine_hung": (
        "The engine did not answer its health check for {seconds} s and was ended. Its last words: {last_line}",
        "引擎连续 {seconds} 秒未响应健康检查，已被终止。最后的输出：{last_line}",
    ),
    "engine_says_dead": (
        "The engine says itself that it is faulty (HTTP {status} to its health check) and was ended. Its last words: "
        "{last_line}",
        "引擎自报故障（健康检查返回 HTTP {status}），已被终止。最后的输出：{last_line}",
    ),
    "engine_silent": (
        "The engine has {requests} requests in flight and sent no byte for {seconds} s ({allowed} s were to be "
        "expected at most): it is restarted.",
        "引擎有 {requests} 个处理中的请求，却已 {seconds} 秒没有发送任何字节（预计最多 {allowed} 秒）：正在重启。",
    ),
    "engine_unanswering": (
        "The idle engine accepted a request for one token ({path}) and did not answer within {seconds} s: it is "
        "restarted.",
        "空闲的引擎接受了一个只要一个 token 的请求（{path}），但 {seconds} 秒内没有回答：正在重启。",
    ),
    "engine_stuck": (
        "The engine of attempt {attempt} passed its health check but answered no request, and was ended. Its last "
        "words: {last_line}",
        "第 {attempt} 次尝试的引擎通过了健康检查，却不回答任何请求，已被终止。最后的输出：{last_line}",
    ),
    "joint_restart": (
        "Another worker's share of this replica ended, so that all shares begin again together.",
        "此副本在另一个工作节点上的部分已结束，因此各部分将一同重新启动。",
    ),
    "worker_was_stopped": (
        "The worker was stopped, and its engines with it; they start again together.",
        "工作节点已停止，其引擎也随之停止；它们将一同重新启动。",
    ),
    # logs
    "log_missing": (
        "There is no log of attempt {attempt} of instance {instance_id}: no engine was started yet, "
        "or it was cleared to save space.",
        "没有实例 {instance_id} 第 {attempt} 次尝试的日志：引擎尚未启动，或日志已被清理。",
    ),
}
