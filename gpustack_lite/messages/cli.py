"""Sentences of the command line and of the supervisor."""

SENTENCES: dict[str, tuple[str, str]] = {
    # going wrong
    "unknown_command": (
        "There is no command {name}: gpustack-lite --help lists them.",
        "没有命令 {name}:运行 gpustack-lite --help 查看全部命令。",
    ),
    "unknown_command_close": (
        "There is no command {name}; did you mean {close}? gpustack-lite --help lists all.",
        "没有命令 {name},是否想输入 {close}?运行 gpustack-lite --help 查看全部命令。",
    ),
    "mishap": (
        "gpustack-lite made a mistake ({what}); please report it together with {path}.",
        "gpustack-lite 内部出错({what}),请连同 {path} 一起反馈。",
    ),
    # data directory, sockets
    "data_dir_unusable": (
        "The data directory {path} cannot be used: {why}; choose another one with --data-dir.",
        "无法使用数据目录 {path}:{why};请用 --data-dir 另选一个。",
    ),
    "already_running": (
        "gpustack-lite already runs on {path} as process {pid} and answers at {url}: use it, end it with `kill {pid}`, "
        "or choose another --data-dir.",
        "数据目录 {path} 上已有 gpustack-lite 在运行(进程 {pid},地址 {url}):请直接使用,或用 `kill {pid}` 结束它,"
        "或另选 --data-dir。",
    ),
    "already_running_unknown": (
        "gpustack-lite already runs on {path}: end it, or choose another --data-dir.",
        "数据目录 {path} 上已有 gpustack-lite 在运行:请先结束它,或另选 --data-dir。",
    ),
    "port_in_use": (
        "Port {port} is in use by process {pid} ({program}): end that process, or choose another port with "
        "--port {next_port}.",
        "端口 {port} 已被进程 {pid}({program})占用:请结束该进程,或用 --port {next_port} 换一个端口。",
    ),
    "port_in_use_unknown": (
        "Port {port} is in use by another program: end it, or choose another port with --port {next_port}.",
        "端口 {port} 已被其他程序占用:请结束它,或用 --port {next_port} 换一个端口。",
    ),
    "port_forbidden": (
        "Port {port} may not be opened by this user: choose one above 1023 with --port, such as 9090.",
        "当前用户无权打开端口 {port}:请用 --port 选择大于 1023 的端口,例如 9090。",
    ),
    "host_unknown": (
        "The address {host} is not one of this machine: give an IP address of it with --host, such as 127.0.0.1 or "
        "0.0.0.0.",
        "{host} 不是本机地址:请用 --host 给出本机的 IP 地址,例如 127.0.0.1 或 0.0.0.0。",
    ),
    "cannot_listen": (
        "{host}:{port} cannot be opened: {why}; give an address of this machine with --host.",
        "无法打开 {host}:{port}:{why};请用 --host 给出本机地址。",
    ),
    # join
    "join_url_invalid": (
        "{url} is not the address of a server: write it as http://127.0.0.1:9090.",
        "{url} 不是有效的服务器地址:请写成 http://127.0.0.1:9090 的形式。",
    ),
    "join_needs_tls": (
        "{url} would carry credentials in the clear over the network: use an https:// address (a reverse proxy with a "
        "certificate serves), or a tunnel to 127.0.0.1.",
        "{url} 会在网络上明文传输凭据:请使用 https:// 地址(可用带证书的反向代理),或通过隧道连接 127.0.0.1。",
    ),
    "join_token_missing": (
        "A worker needs a token to join: make one with `gpustack-lite workers token` on the server and give it with "
        "--token.",
        "加入集群需要令牌:请在服务器上运行 `gpustack-lite workers token` 生成,并用 --token 传入。",
    ),
    # supervisor
    "starting": ("gpustack-lite is starting; its data is in {path}.", "gpustack-lite 正在启动,数据目录为 {path}。"),
    "platform_ready": (
        "Ready at {url} - console, API and /v1 on one port. Ctrl-C stops everything.",
        "已就绪:{url}(控制台、管理 API 与 /v1 共用此端口)。按 Ctrl-C 全部停止。",
    ),
    "platform_ready_first": (
        "Ready at {url} - console, API and /v1 on one port. Sign in as admin; the password is in {path}. Ctrl-C stops "
        "everything.",
        "已就绪:{url}(控制台、管理 API 与 /v1 共用此端口)。请以 admin 登录,密码在 {path} 中。按 Ctrl-C 全部停止。",
    ),
    "worker_runs": (
        "The worker runs and has joined {url}. Ctrl-C stops it and its engines.",
        "工作节点已运行并加入 {url}。按 Ctrl-C 停止它及其引擎。",
    ),
    "child_ended": (
        "{role} ended unexpectedly (code {code}) and is started again; its log is {path}.",
        "{role} 意外退出(代码 {code}),正在重新启动;日志见 {path}。",
    ),
    "child_lacks_socket": (
        "{role} was started without a socket: start it through `gpustack-lite start`.",
        "{role} 启动时没有得到套接字:请通过 `gpustack-lite start` 启动。",
    ),
    "new_code_broken": (
        "The code installed now cannot be loaded ({why}); what runs goes on unchanged. Install it again, then send "
        "SIGHUP again.",
        "当前安装的代码无法加载({why}),正在运行的程序保持不变。请重新安装后再次发送 SIGHUP。",
    ),
    "replacement_failed": (
        "The new {role} does not start, so the old one goes on; the reason is in {path}.",
        "新的 {role} 未能启动,旧的继续运行;原因见 {path}。",
    ),
    "stopping": (
        "Stopping: requests in flight are finished, then the engines end (at most 30 s; Ctrl-C again hurries).",
        "正在停止:先完成进行中的请求,再结束引擎(最多 30 秒;再按一次 Ctrl-C 可加快)。",
    ),
}
