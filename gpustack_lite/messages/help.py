"""What --help says: the page of the whole program, and one line for each command, argument and option."""

SENTENCES: dict[str, tuple[str, str]] = {
    "help_main": (
        """\
gpustack-lite serves models on NPUs, GPUs and CPUs: one package, one port, real engines behind the OpenAI API.

Usage: gpustack-lite COMMAND [OPTIONS]        gpustack-lite COMMAND --help explains one command

Run it
  start       server, gateway and worker on this machine, at http://127.0.0.1:9090
  join        this machine as a worker of a server elsewhere
  demo        a small real model, served and proven, in one command
  doctor      is this machine fit? what runs here?

Use it
  models      deploy, list, show, stop, start, scale, delete, logs
  chat        talk to a model in the terminal
  keys        API keys for programs: create, list, delete
  usage       tokens and requests by model, key or user

Look after it
  instances   the replicas of models: list, show, logs
  workers     the machines: list, show, token, delete
  devices     the accelerators: list
  backends    the engines: list, create, delete
  users       reset-password
  events      what happened, and when
  login       remember a server and sign in to it

First steps
  gpustack-lite start
  gpustack-lite models deploy qwen --source /models/qwen2.5-0.5b.gguf
  gpustack-lite chat qwen "Hello"
  gpustack-lite keys create my-app

--version prints the version. Lists take -o table|json|yaml. GPUSTACK_LITE_LANG=zh speaks Chinese.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage.""",
        """\
gpustack-lite 在 NPU、GPU 和 CPU 上提供模型服务:一个软件包、一个端口、OpenAI API 背后是真实的推理引擎。

用法:gpustack-lite 命令 [选项]        gpustack-lite 命令 --help 查看某个命令的说明

运行
  start       在本机启动服务器、网关和工作节点,地址 http://127.0.0.1:9090
  join        将本机作为工作节点加入其他服务器
  demo        一条命令部署并验证一个真实的小模型
  doctor      检查本机是否适合运行,以及正在运行什么

使用
  models      deploy、list、show、stop、start、scale、delete、logs
  chat        在终端中与模型对话
  keys        程序使用的 API 密钥:create、list、delete
  usage       按模型、密钥或用户统计请求数与 token 数

管理
  instances   模型副本:list、show、logs
  workers     机器:list、show、token、delete
  devices     加速卡:list
  backends    推理引擎:list、create、delete
  users       reset-password
  events      发生过什么、何时发生
  login       记住一台服务器并登录

入门
  gpustack-lite start
  gpustack-lite models deploy qwen --source /models/qwen2.5-0.5b.gguf
  gpustack-lite chat qwen "你好"
  gpustack-lite keys create my-app

--version 显示版本。列表可用 -o table|json|yaml。设置 GPUSTACK_LITE_LANG=en 使用英文。
退出码:0 完成,1 被拒绝或失败,2 用法错误。""",
    ),
    # start and join
    "help_start": (
        "Run server, gateway and worker on this machine until Ctrl-C.",
        "在本机运行服务器、网关和工作节点,直到按下 Ctrl-C。",
    ),
    "help_start_examples": (
        "\b\nExamples:\n  gpustack-lite start\n  gpustack-lite start --host 0.0.0.0 --port 8080\n"
        "  gpustack-lite start --simulate 8x910B3-64G    (try it without hardware)",
        "\b\n示例:\n  gpustack-lite start\n  gpustack-lite start --host 0.0.0.0 --port 8080\n"
        "  gpustack-lite start --simulate 8x910B3-64G    (没有硬件也可试用)",
    ),
    "help_host": (
        "Address to listen on (127.0.0.1; 0.0.0.0 for every network).",
        "监听地址(默认 127.0.0.1;0.0.0.0 表示所有网络)。",
    ),
    "help_port": ("The one public port (9090; 0 takes a free one).", "唯一的对外端口(默认 9090;0 表示任选空闲端口)。"),
    "help_data_dir": (
        "Where everything is kept (as root /var/lib/gpustack-lite).",
        "数据目录(root 用户默认为 /var/lib/gpustack-lite)。",
    ),
    "help_no_worker": ("Only server and gateway.", "只运行服务器和网关。"),
    "help_gateways": (
        "Gateway processes (1); more of them use more cores.",
        "网关进程数(默认 1),更多进程可利用更多核。",
    ),
    "help_database_url": (
        "postgresql://... instead of SQLite in the data directory.",
        "使用 postgresql://... 代替数据目录中的 SQLite。",
    ),
    "help_simulate": (
        "Declare devices that are not there: COUNTxCHIP-MEMORY, such as 8x910B3-64G, or a YAML file.",
        "声明并不存在的设备:数量x芯片-显存,例如 8x910B3-64G,或一个 YAML 文件。",
    ),
    "help_model_root": (
        "A folder whose models may be served by path; may be given several times.",
        "允许按路径提供模型的目录,可重复给出。",
    ),
    "help_allowed_host": (
        "A host name under which browsers reach the console; may be given several times.",
        "浏览器访问控制台所用的主机名,可重复给出。",
    ),
    "help_worker_name": ("Name of this worker (the host's name).", "本工作节点的名称(默认主机名)。"),
    "help_labels": ("Labels of this worker, for placement.", "本工作节点的标签,用于调度。"),
    "help_config": ("A YAML file with settings.", "YAML 配置文件。"),
    "help_log_level": ("debug, info, warning or error.", "debug、info、warning 或 error。"),
    "help_join": (
        "Run a worker on this machine that belongs to the server at URL.",
        "在本机运行工作节点,并加入 URL 处的服务器。",
    ),
    "help_join_examples": (
        "\b\nExamples:\n  gpustack-lite join https://gpu.example.com --token - < token-file\n"
        "  GPUSTACK_LITE_TOKEN=... gpustack-lite join https://gpu.example.com --name rack2 --labels zone=b",
        "\b\n示例:\n  gpustack-lite join https://gpu.example.com --token - < token-file\n"
        "  GPUSTACK_LITE_TOKEN=... gpustack-lite join https://gpu.example.com --name rack2 --labels zone=b",
    ),
    "help_join_url": ("The server's address.", "服务器地址。"),
    "help_join_token": (
        "From `gpustack-lite workers token`; - reads it from standard input; needed once.",
        "由 `gpustack-lite workers token` 生成;- 表示从标准输入读取;只需一次。",
    ),
}
