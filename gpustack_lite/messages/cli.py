"""Sentences of the command line and of the supervisor."""

SENTENCES: dict[str, tuple[str, str]] = {
    # going wrong
    "unknown_command": (
        "There is no command {name}: gpustack-lite --help lists them.",
        "没有命令 {name}：运行 gpustack-lite --help 查看全部命令。",
    ),
    "unknown_command_close": (
        "There is no command {name}; did you mean {close}? gpustack-lite --help lists all.",
        "没有命令 {name}，是否想输入 {close}？运行 gpustack-lite --help 查看全部命令。",
    ),
    "mishap": (
        "gpustack-lite made a mistake ({what}); please report it together with {path}.",
        "gpustack-lite 内部出错（{what}），请连同 {path} 一起反馈。",
    ),
    # data directory, sockets
    "data_dir_unusable": (
        "The data directory {path} cannot be used: {why}; choose another one with --data-dir.",
        "无法使用数据目录 {path}：{why}；请用 --data-dir 另选一个。",
    ),
    "already_running": (
        "gpustack-lite already runs on {path} as process {pid} and answers at {url}: use it, end it with `kill {pid}`, "
        "or choose another --data-dir.",
        "数据目录 {path} 上已有 gpustack-lite 在运行（进程 {pid}，地址 {url}）：请直接使用，或用 `kill {pid}` 结束它，"
        "或另选 --data-dir。",
    ),
    "already_running_unknown": (
        "gpustack-lite already runs on {path}: end it, or choose another --data-dir.",
        "数据目录 {path} 上已有 gpustack-lite 在运行：请先结束它，或另选 --data-dir。",
    ),
    "port_in_use": (
        "Port {port} is in use by process {pid} ({program}): end that process, or choose another port with "
        "--port {next_port}.",
        "端口 {port} 已被进程 {pid}（{program}）占用：请结束该进程，或用 --port {next_port} 换一个端口。",
    ),
    "port_in_use_unknown": (
        "Port {port} is in use by another program: end it, or choose another port with --port {next_port}.",
        "端口 {port} 已被其他程序占用：请结束它，或用 --port {next_port} 换一个端口。",
    ),
    "port_forbidden": (
        "Port {port} may not be opened by this user: choose one above 1023 with --port, such as 9090.",
        "当前用户无权打开端口 {port}：请用 --port 选择大于 1023 的端口，例如 9090。",
    ),
    "tls_open": ("Open with TLS: {url}", "TLS 地址：{url}"),
    "host_unknown": (
        "The address {host} is not one of this machine: give an IP address of it with --host, such as 127.0.0.1 or "
        "0.0.0.0.",
        "{host} 不是本机地址：请用 --host 给出本机的 IP 地址，例如 127.0.0.1 或 0.0.0.0。",
    ),
    "cannot_listen": (
        "{host}:{port} cannot be opened: {why}; give an address of this machine with --host.",
        "无法打开 {host}:{port}：{why}；请用 --host 给出本机地址。",
    ),
    # join
    "join_url_invalid": (
        "{url} is not the address of a server: write it as http://127.0.0.1:9090.",
        "{url} 不是有效的服务器地址：请写成 http://127.0.0.1:9090 的形式。",
    ),
    "join_needs_tls": (
        "{url} would carry credentials in the clear over the network: use an https:// address (a reverse proxy with a "
        "certificate serves), or a tunnel to 127.0.0.1.",
        "{url} 会在网络上明文传输凭据：请使用 https:// 地址（可用带证书的反向代理），或通过隧道连接 127.0.0.1。",
    ),
    "join_token_needed": (
        "A worker needs a token to join: make one with `gpustack-lite workers token` on the server and give it with "
        "--token.",
        "加入集群需要令牌：请在服务器上运行 `gpustack-lite workers token` 生成，并用 --token 传入。",
    ),
    # supervisor
    "starting": ("gpustack-lite is starting; its data is in {path}.", "gpustack-lite 正在启动，数据目录为 {path}。"),
    "platform_ready": (
        "Ready at {url} - console, API and /v1 on one port. Ctrl-C stops everything.",
        "已就绪：{url}（控制台、管理 API 与 /v1 共用此端口）。按 Ctrl-C 全部停止。",
    ),
    "platform_ready_first": (
        "Ready at {url} - console, API and /v1 on one port. Sign in as admin; the password is in {path}. Ctrl-C stops "
        "everything.",
        "已就绪：{url}（控制台、管理 API 与 /v1 共用此端口）。请以 admin 登录，密码在 {path} 中。按 Ctrl-C 全部停止。",
    ),
    "worker_runs": (
        "The worker runs and has joined {url}. Ctrl-C stops it and its engines.",
        "工作节点已运行并加入 {url}。按 Ctrl-C 停止它及其引擎。",
    ),
    "child_ended": (
        "{role} ended unexpectedly (code {code}) and is started again; its log is {path}.",
        "{role} 意外退出（代码 {code}），正在重新启动；日志见 {path}。",
    ),
    "child_lacks_socket": (
        "{role} was started without a socket: start it through `gpustack-lite start`.",
        "{role} 启动时没有得到套接字：请通过 `gpustack-lite start` 启动。",
    ),
    "new_code_broken": (
        "The code installed now cannot be loaded ({why}); what runs goes on unchanged. Install it again, then send "
        "SIGHUP again.",
        "当前安装的代码无法加载（{why}），正在运行的程序保持不变。请重新安装后再次发送 SIGHUP。",
    ),
    "replacement_failed": (
        "The new {role} does not start, so the old one goes on; the reason is in {path}.",
        "新的 {role} 未能启动，旧的继续运行；原因见 {path}。",
    ),
    "stopping": (
        "Stopping: requests in flight are finished, then the engines end (at most 30 s; Ctrl-C again hurries).",
        "正在停止：先完成进行中的请求，再结束引擎（最多 30 秒；再按一次 Ctrl-C 可加快）。",
    ),
    # servers and credentials
    "server_url_invalid": (
        "{url} is not the address of a server: write it as http://127.0.0.1:9090.",
        "{url} 不是有效的服务器地址：请写成 http://127.0.0.1:9090 的形式。",
    ),
    "server_said": ("{message}", "{message}"),
    "sign_in_needed": (
        "{url} does not accept this credential: {message} Sign in with `gpustack-lite login {url}`, or set "
        "GPUSTACK_LITE_API_KEY to a key with the scope manage.",
        "{url} 不接受当前凭据：{message} 请用 `gpustack-lite login {url}` 登录，或将 GPUSTACK_LITE_API_KEY 设为具有 "
        "manage 权限的密钥。",
    ),
    "no_server_known": (
        "No server is known here: start one with `gpustack-lite start`, sign in to one with `gpustack-lite login URL`, "
        "or set GPUSTACK_LITE_SERVER and GPUSTACK_LITE_API_KEY. (Nothing readable is in {path}.)",
        "未找到服务器：请用 `gpustack-lite start` 启动，或用 `gpustack-lite login URL` 登录，或设置 "
        "GPUSTACK_LITE_SERVER 与 GPUSTACK_LITE_API_KEY。（{path} 中没有可读的数据。）",
    ),
    "server_not_running": (
        "The server of {path} is not running: start it with `gpustack-lite start --data-dir {path}`.",
        "{path} 的服务器没有运行：请用 `gpustack-lite start --data-dir {path}` 启动。",
    ),
    "credentials_unreadable": (
        "{path} cannot be read: remove it and sign in again with `gpustack-lite login`.",
        "无法读取 {path}：请删除它并用 `gpustack-lite login` 重新登录。",
    ),
    "login_in_the_clear": (
        "Warning: {url} is not encrypted, so the password can be read on the way.",
        "警告：{url} 未加密，密码可能在传输途中被读取。",
    ),
    "password_of": ("Password of {username}", "{username} 的密码"),
    "signed_in": ("Signed in to {url}; the session is kept in {path}.", "已登录 {url}，会话保存在 {path}。"),
    "password_to_change": (
        "This is the first password: choose your own in the console at {url}.",
        "当前使用的是初始密码：请在控制台 {url} 中设置自己的密码。",
    ),
    # files and values
    "file_unreadable": ("{path} cannot be used: {why}.", "无法使用 {path}：{why}。"),
    "not_a_mapping": ("it is not a mapping", "内容不是键值映射"),
    "needs_key_value": ("{option} wants KEY=VALUE.", "{option} 需要 键=值 的形式。"),
    "needs_replicas": (
        "{given} is no number of replicas: write a number, auto(1,4) or 1..4.",
        "{given} 不是有效的副本数：请写数字、auto(1,4) 或 1..4。",
    ),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    # models
    "model_created": ("{name} is created.", "{name} 已创建。"),
    "model_started": ("{name} is to run again.", "{name} 将重新运行。"),
    "stopped_model": (
        "{name} is stopped; `gpustack-lite models start {name}` runs it again.",
        "{name} 已停止；用 `gpustack-lite models start {name}` 可重新运行。",
    ),
    "model_rolled_back": (
        "{name} is as it was at generation {to}; this is generation {generation}.",
        "{name} 已恢复为第 {to} 代的配置；当前为第 {generation} 代。",
    ),
    "now": ("now", "当前"),
    "column_generation": ("GENERATION", "代"),
    "column_actor": ("BY", "操作者"),
    "column_fields": ("CHANGED", "改动"),
    "column_current": ("CURRENT", "当前"),
    "model_updated": ("{name} is changed.", "已修改 {name}。"),
    "nothing_to_change": ("Say what to change: see --help.", "请说明要修改什么：参见 --help。"),
    "model_scaled": (
        "{name} is scaled to {replicas}; `gpustack-lite models show {name}` tells how far it is.",
        "{name} 的副本数将变为 {replicas}；可用 `gpustack-lite models show {name}` 查看进度。",
    ),
    "model_deleted": ("{name} is deleted.", "{name} 已删除。"),
    "model_ready": ("{name} is READY after {seconds} s.", "{name} 已就绪（READY），用时 {seconds} 秒。"),
    "model_waits": ("{name} waits: {why}", "{name} 在等待：{why}"),
    "deploy_failed": (
        "{name} failed: {why} `gpustack-lite models logs {name}` shows what its engine said.",
        "{name} 失败：{why} 用 `gpustack-lite models logs {name}` 查看引擎输出。",
    ),
    "not_ready_in_time": (
        "{name} was not ready in time and goes on starting; `gpustack-lite models show {name}` tells how far it is.",
        "{name} 未在限定时间内就绪，仍在启动；用 `gpustack-lite models show {name}` 查看进展。",
    ),
    "deploy_goes_on": (
        "{name} goes on starting without you; `gpustack-lite models show {name}` tells how far it is.",
        "{name} 会继续启动；用 `gpustack-lite models show {name}` 查看进展。",
    ),
    "model_has_no_instance": (
        "{name} has no instance, so there is no log: start it with `gpustack-lite models start {name}`.",
        "{name} 没有实例，因此没有日志：请用 `gpustack-lite models start {name}` 启动。",
    ),
    "phase_engine": ("engine", "引擎"),
    "phase_weights": ("weights", "权重"),
    "phase_load": ("loading", "加载"),
    # other nouns
    "worker_drained": (
        "{worker} is drained: what runs there goes on, nothing new is placed.",
        "{worker} 已停止接收：已有实例继续运行，不再放置新的实例。",
    ),
    "worker_resumed": ("{worker} takes instances again.", "{worker} 已恢复接收实例。"),
    "worker_deleted": ("{name} is no worker any more.", "工作节点 {name} 已移除。"),
    "join_token_made": (
        "On the new worker, run (the token serves until {expires_at}):\n"
        "  GPUSTACK_LITE_TOKEN={token} gpustack-lite join {url}",
        "在新的工作节点上运行（令牌有效期至 {expires_at}）：\n  GPUSTACK_LITE_TOKEN={token} gpustack-lite join {url}",
    ),
    "key_made": (
        "The key {name}, shown this once:\n{key}",
        "密钥 {name}（仅显示这一次）：\n{key}",
    ),
    "key_updated": ("The key {name} is changed.", "已修改密钥 {name}。"),
    "user_updated": ("The user {name} is changed.", "已修改用户 {name}。"),
    "key_deleted": ("The key {name} is deleted and no longer works.", "密钥 {name} 已删除并失效。"),
    "route_created": ("The name {name} can be used as a model.", "名称 {name} 已可作为模型使用。"),
    "route_changed": ("The route {name} is changed.", "路由 {name} 已修改。"),
    "route_deleted": ("The route {name} is deleted; its models stay.", "路由 {name} 已删除，其模型保留。"),
    "needs_target": (
        "name at least one model: --target MODEL or --target MODEL=WEIGHT",
        "请至少指定一个模型：--target 模型 或 --target 模型=权重",
    ),
    "nothing_to_route": (
        "say what is to change: --target, --fallback or --no-fallback",
        "请指明要修改的内容：--target、--fallback 或 --no-fallback",
    ),
    "password_reset": (
        "The new password of {username}, shown this once; it is to be changed at the next sign-in:\n{password}",
        "{username} 的新密码（仅显示这一次），下次登录时需要修改：\n{password}",
    ),
    "backend_created": ("The backend {name} can be used.", "推理引擎 {name} 已可使用。"),
    "backend_deleted": ("The backend {name} is deleted.", "推理引擎 {name} 已删除。"),
    # chat
    "chat_hint": ("An empty answer to > is skipped; Ctrl-D ends.", "空行会被忽略；按 Ctrl-D 结束。"),
    "chat_empty": ("The model answered nothing.", "模型没有输出内容。"),
    "chat_ttft": ("TTFT {ttft} s", "首个 token 用时 {ttft} 秒"),
    "chat_speed": (
        "TTFT {ttft} s, {tokens} tokens, {speed} tokens/s",
        "首个 token 用时 {ttft} 秒，共 {tokens} 个 token,{speed} token/秒",
    ),
    "deleted_key": ("#{id} (deleted)", "#{id}（已删除）"),
    "duration_not_understood": (
        "{given} is no duration: write 90s, 30m, 12h or 2d.",
        "{given} 不是有效的时长：请填写 90s、30m、12h 或 2d。",
    ),
    # demo
    "start_failed": ("{said}", "{said}"),
    "platform_found": (
        "A platform of an earlier run is still there (process {pid}, data in {path}): it is used on its own port and "
        "code, and ends with this one.",
        "上次运行的平台仍在（进程 {pid}，数据在 {path}）：将沿用它的端口和代码，并随本次运行一起结束。",
    ),
    "platform_ended": (
        "The platform was ended from elsewhere: its logs in {path} say when.",
        "平台被其他操作结束：时间见 {path} 中的日志。",
    ),
    "start_slow": (
        "The platform is not ready after two minutes: its logs in {path} say why.",
        "平台两分钟后仍未就绪，原因见 {path} 中的日志。",
    ),
    "demo_fetching": (
        "Fetching SmolLM2-135M-Instruct (98 MB, once).",
        "正在获取 SmolLM2-135M-Instruct（98 MB，仅首次）。",
    ),
    "demo_starting": ("Starting the platform.", "正在启动平台。"),
    "demo_asking": ("Asking it through the public port: {question}", "通过对外端口提问：{question}"),
    "demo_console": ("Console   {url}  (user admin)", "控制台   {url}（用户 admin）"),
    "demo_password": ("Password  in {path}", "密码     见 {path}"),
    "demo_key": ("API key   {key}", "API 密钥 {key}"),
    "demo_command": ("Commands  {command} models list", "命令行   {command} models list"),
    "demo_port_taken": (
        "{said} With make: `make demo PORT={port}`.",
        "{said} 使用 make 时：`make demo PORT={port}`。",
    ),
    "demo_runs": ("Running until Ctrl-C, which ends everything.", "持续运行，按 Ctrl-C 全部结束。"),
    # doctor
    "status_pass": ("pass", "通过"),
    "status_warn": ("warn", "警告"),
    "status_fail": ("FAIL", "失败"),
    "check_python": ("Python is {version}, at {path}.", "Python 版本为 {version}，位于 {path}。"),
    "check_data_dir": ("The data directory {path} can be written.", "数据目录 {path} 可写。"),
    "check_data_dir_bad": ("The data directory {path} cannot be written.", "数据目录 {path} 不可写。"),
    "remedy_data_dir": (
        "Choose another one with --data-dir, or change its owner.",
        "请用 --data-dir 另选，或修改其属主。",
    ),
    "check_disk": ("{free_bytes} are free where {path} is.", "{path} 所在磁盘剩余 {free_bytes}。"),
    "remedy_disk": (
        "Free 10 GiB or choose a --data-dir on another disk: engines and models are large.",
        "请腾出 10 GiB，或用 --data-dir 选择其他磁盘：引擎和模型占用空间较大。",
    ),
    "check_port_free": ("Port {port} is free.", "端口 {port} 空闲。"),
    "check_port_ours": ("Port {port} is served by gpustack-lite.", "端口 {port} 由 gpustack-lite 使用。"),
    "check_port_taken": (
        "Port {port} is in use by process {pid} ({program}).",
        "端口 {port} 已被进程 {pid}（{program}）占用。",
    ),
    "remedy_port": (
        "End process {pid} ({program}), or choose another port than {port} with --port.",
        "请结束进程 {pid}({program})，或用 --port 选择 {port} 以外的端口。",
    ),
    "check_descriptors": ("{count} files may be open at once.", "可同时打开 {count} 个文件。"),
    "remedy_descriptors": (
        "Raise the limit to {least} or more (ulimit -n; LimitNOFILE= in systemd): every stream needs two.",
        "请将上限提高到 {least} 以上（ulimit -n;systemd 中为 LimitNOFILE=）：每个流需要两个。",
    ),
    "check_uv": ("uv, which installs engines, is {path}.", "用于安装引擎的 uv 位于 {path}。"),
    "remedy_uv": ("Install it: pip install uv.", "请安装：pip install uv。"),
    "check_names": (
        "No other distribution brings packages of our names.",
        "没有其他软件包占用本程序的包名。",
    ),
    "check_names_taken": (
        "The distribution {distribution} brings a package {name} too, which may be imported in place of ours.",
        "软件包 {distribution} 也带有名为 {name} 的包，可能会代替本程序的包被导入。",
    ),
    "remedy_names": (
        "Uninstall {distribution} here, or install gpustack-lite into an environment of its own (it brings {name}).",
        "请在此环境卸载 {distribution}，或将 gpustack-lite 安装到独立环境（它自带 {name}）。",
    ),
    "check_engine_ports": (
        "Engine ports {ports} are apart from those of outgoing connections.",
        "引擎端口 {ports} 与外连临时端口不重叠。",
    ),
    "check_engine_ports_shared": (
        "Of the engine ports {ports}, {low} to {high} are also given to outgoing connections.",
        "引擎端口 {ports} 中的 {low} 到 {high} 也会被用作外连临时端口。",
    ),
    "remedy_engine_ports": (
        "Set GPUSTACK_LITE_ENGINE_PORTS below net.ipv4.ip_local_port_range, such as 21000-21999.",
        "请将 GPUSTACK_LITE_ENGINE_PORTS 设在 net.ipv4.ip_local_port_range 之外，例如 21000-21999。",
    ),
    "check_clock": ("The clock says {now}.", "系统时钟为 {now}。"),
    "remedy_clock": ("Set the clock: keys and sessions expire by it.", "请校准时钟：密钥和会话按它过期。"),
    # titles of columns
    "column_active": ("ACTIVE", "启用"),
    "column_at": ("AT", "时间"),
    "column_attempt": ("ATTEMPT", "尝试"),
    "column_backend": ("BACKEND", "引擎"),
    "column_builtin": ("BUILT IN", "内置"),
    "column_cached_tokens": ("CACHED TOKENS", "缓存命中 token"),
    "column_cause": ("CAUSE", "原因"),
    "column_check": ("CHECK", "检查项"),
    "column_chip": ("CHIP", "芯片"),
    "column_support": ("SUPPORT", "支持程度"),
    "column_completion_tokens": ("COMPLETION TOKENS", "输出 token"),
    "column_cpu_count": ("CPUS", "CPU 数"),
    "column_created_at": ("CREATED", "创建时间"),
    "column_context": ("CONTEXT", "上下文"),
    "column_free_bytes": ("LEFT", "剩余"),
    "column_device": ("DEVICE", "设备"),
    "column_device_count": ("DEVICES", "设备数"),
    "column_device_kinds": ("DEVICE KINDS", "设备类型"),
    "column_devices": ("DEVICES", "设备"),
    "column_drained": ("DRAINED", "已排空"),
    "column_enabled": ("ENABLED", "启用"),
    "column_expires_at": ("EXPIRES", "过期时间"),
    "column_fallback": ("FALLBACK", "备用"),
    "column_group": ("GROUP", "互联组"),
    "column_health": ("HEALTH", "健康"),
    "column_id": ("ID", "编号"),
    "column_instance_id": ("INSTANCE", "实例"),
    "column_key": ("KEY", "密钥"),
    "column_kind": ("KIND", "类型"),
    "column_labels": ("LABELS", "标签"),
    "column_last_used_at": ("LAST USED", "最近使用"),
    "column_memory_claimed_bytes": ("CLAIMED", "已分配"),
    "column_memory_total_bytes": ("MEMORY", "显存"),
    "column_memory_used_bytes": ("USED", "已用"),
    "column_message": ("MESSAGE", "说明"),
    "column_moves_from": ("FROM", "从"),
    "column_moves_to": ("TO", "到"),
    "column_moves_how": ("HOW", "方式"),
    "moves_serving": ("the new one is ready first", "新副本先就绪"),
    "moves_stopping": ("stops first", "先停止旧副本"),
    "rebalance_place": ("Then {name} fits on {place}.", "之后 {name} 可放在 {place}。"),
    "column_model": ("MODEL", "模型"),
    "column_models": ("MODELS", "模型"),
    "column_move": ("MOVE", "状态变化"),
    "column_must_change_password": ("MUST CHANGE PASSWORD", "需改密码"),
    "column_name": ("NAME", "名称"),
    "column_paths": ("PATHS", "接口"),
    "column_pid": ("PID", "进程"),
    "column_port": ("PORT", "端口"),
    "column_prefix": ("PREFIX", "前缀"),
    "column_prompt_tokens": ("PROMPT TOKENS", "输入 token"),
    "column_ram_total_bytes": ("RAM", "内存"),
    "column_ram_used_bytes": ("USED", "已用"),
    "column_ready": ("READY", "就绪"),
    "column_replica": ("REPLICA", "副本"),
    "column_request_id": ("REQUEST", "请求编号"),
    "column_requests": ("REQUESTS", "请求数"),
    "column_role": ("ROLE", "角色"),
    "column_scopes": ("SCOPES", "权限"),
    "column_seconds": ("SECONDS", "秒"),
    "column_simulated": ("SIMULATED", "模拟"),
    "column_source": ("SOURCE", "来源"),
    "column_started_at": ("STARTED", "开始时间"),
    "column_state": ("STATE", "状态"),
    "column_status": ("STATUS", "状态码"),
    "column_targets": ("TARGETS", "目标"),
    "column_temperature_c": ("TEMPERATURE (°C)", "温度（°C）"),
    "column_ttft_seconds": ("TTFT (S)", "首字时间（秒）"),
    "column_user": ("USER", "用户"),
    "column_username": ("USER", "用户"),
    "column_utilization": ("UTILIZATION", "利用率"),
    "column_version": ("VERSION", "版本"),
    "column_worker": ("WORKER", "工作节点"),
}
