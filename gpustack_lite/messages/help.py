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

Plan it
  evaluate    does a model fit, where, and with how much memory for what?
  simulate    which models fit on which machines, with no hardware
  rebalance   which replicas would have to move so that a waiting model fits, and moving them

Use it
  models      deploy, list, show, update, stop, start, scale, delete, logs; history, spec, diff, rollback, apply
  routes      other names for models, with weights: list, show, create, update, delete
  chat        talk to a model in the terminal
  keys        API keys for programs, with limits: create, update, rotate, list, show, delete
  usage       tokens and requests by model, key or user
  requests    what became of single requests, and why: list, show

Look after it
  instances   the replicas of models: list, show, logs
  workers     the machines: list, show, token, drain, resume, delete
  devices     the accelerators: list, show, cordon, uncordon
  files       model files on workers: list, show, add, pause, resume, delete
  backends    the engines: list, create, delete, install, versions, set-default, remove
  users       who may sign in: list, create, show, update, delete, activate, deactivate, password, reset-password
  groups      users under one name: list, show, create, add, remove, delete
  sessions    who is signed in: list, end
  secrets     what the platform needs in clear, such as hub tokens: list, set, delete, rotate-key
  events      what happened, and when: list
  audit       who changed what, from where, in a log that shows when it was touched: list, export, verify
  login       remember a server and sign in to it

First steps
  gpustack-lite start
  gpustack-lite models deploy qwen --source /models/qwen2.5-0.5b.gguf
  gpustack-lite chat qwen "Hello"
  gpustack-lite keys create my-app

--version prints the version. Lists take -o table|json|yaml. GPUSTACK_LITE_LANG=zh speaks Chinese.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage.""",
        """\
gpustack-lite 在 NPU、GPU 和 CPU 上提供模型服务：一个软件包、一个端口、OpenAI API 背后是真实的推理引擎。

用法：gpustack-lite 命令 [选项]        gpustack-lite 命令 --help 查看某个命令的说明

运行
  start       在本机启动服务器、网关和工作节点，地址 http://127.0.0.1:9090
  join        将本机作为工作节点加入其他服务器
  demo        一条命令部署并验证一个真实的小模型
  doctor      检查本机是否适合运行，以及正在运行什么

规划
  evaluate    模型能否放下、放在哪里、各项内存多少
  simulate    不需要硬件:哪些模型能放在哪些机器上
  rebalance   需要迁移哪些副本才能放下等待中的模型，并执行迁移

使用
  models      deploy、list、show、update、stop、start、scale、delete、logs；history、spec、diff、rollback、apply
  routes      模型的别名与加权路由：list、show、create、update、delete
  chat        在终端中与模型对话
  keys        程序使用的 API 密钥与限额：create、update、rotate、list、show、delete
  usage       按模型、密钥或用户统计请求数与 token 数
  requests    单个请求的结果与原因：list、show

管理
  instances   模型副本：list、show、logs
  workers     机器：list、show、token、drain、resume、delete
  devices     加速卡：list、show、cordon、uncordon
  files       节点上的模型文件：list、show、add、pause、resume、delete
  backends    推理引擎：list、create、delete、install、versions、set-default、remove
  users       可登录的用户：list、create、show、update、delete、activate、deactivate、password、reset-password
  groups      用户分组：list、show、create、add、remove、delete
  sessions    谁已登录：list、end
  secrets     平台使用的机密，如仓库令牌：list、set、delete、rotate-key
  events      发生过什么、何时发生：list
  audit       谁在何处改了什么，记录防篡改：list、export、verify
  login       记住一台服务器并登录

入门
  gpustack-lite start
  gpustack-lite models deploy qwen --source /models/qwen2.5-0.5b.gguf
  gpustack-lite chat qwen "你好"
  gpustack-lite keys create my-app

--version 显示版本。列表可用 -o table|json|yaml。设置 GPUSTACK_LITE_LANG=en 使用英文。
退出码：0 完成，1 被拒绝或失败，2 用法错误。""",
    ),
    # start and join
    "help_start": (
        "Run server, gateway and worker on this machine until Ctrl-C.",
        "在本机运行服务器、网关和工作节点，直到按下 Ctrl-C。",
    ),
    "help_start_examples": (
        "\b\nExamples:\n  gpustack-lite start\n  gpustack-lite start --host 0.0.0.0 --port 8080\n"
        "  gpustack-lite start --simulate 8x910B3-64G    (try it without hardware)",
        "\b\n示例：\n  gpustack-lite start\n  gpustack-lite start --host 0.0.0.0 --port 8080\n"
        "  gpustack-lite start --simulate 8x910B3-64G    （没有硬件也可试用）",
    ),
    "help_host": (
        "Address to listen on (127.0.0.1; 0.0.0.0 for every network).",
        "监听地址（默认 127.0.0.1;0.0.0.0 表示所有网络）。",
    ),
    "help_port": (
        "The one public port (9090; 0 takes a free one).",
        "唯一的对外端口（默认 9090;0 表示任选空闲端口）。",
    ),
    "help_data_dir": (
        "Where everything is kept (as root /var/lib/gpustack-lite).",
        "数据目录（root 用户默认为 /var/lib/gpustack-lite）。",
    ),
    "help_no_worker": ("Only server and gateway.", "只运行服务器和网关。"),
    "help_stale_keys_max": (
        "How long gateways serve without hearing from the server (12h); 90s, 30m, 12h or 2d.",
        "网关在收不到服务器消息时最多继续服务多久（默认 12h），如 90s、30m、12h、2d。",
    ),
    "help_gateways": (
        "Gateway processes (1); more of them use more cores.",
        "网关进程数（默认 1），更多进程可利用更多核。",
    ),
    "help_tls_cert": (
        "PEM file with the certificate and its chain; with --tls-key it opens a second port that speaks TLS.",
        "PEM 格式的证书及其证书链；与 --tls-key 一起使用时，会另开一个 TLS 端口。",
    ),
    "help_tls_key": (
        "PEM file with the certificate's private key, without a passphrase. Both files may be replaced at any time.",
        "证书私钥的 PEM 文件，不带口令。两个文件可随时替换。",
    ),
    "help_tls_port": ("Port that speaks TLS (9443).", "TLS 端口（默认 9443）。"),
    "help_database_url": (
        "postgresql://... instead of SQLite in the data directory.",
        "使用 postgresql://... 代替数据目录中的 SQLite。",
    ),
    "help_rebalance": (
        "Move replicas, one after the other, so that a model that waits for room fits: the successor is ready "
        "before the old one is drained.",
        "逐个迁移副本，为等待资源的模型腾出空间：新副本就绪后才排空旧副本。",
    ),
    "help_rebalance_examples": (
        "gpustack-lite rebalance --dry-run shows the moves and changes nothing.",
        "gpustack-lite rebalance --dry-run 仅显示迁移方案，不做任何改动。",
    ),
    "help_rebalance_model": (
        "For this model; without it for the first that waits and that moves help.",
        "针对该模型；不写则针对第一个可通过迁移得到空间的等待中模型。",
    ),
    "help_rebalance_dry_run": ("Show the moves, change nothing.", "仅显示迁移方案，不做任何改动。"),
    "help_rebalance_allow_stop": (
        "Also move what has to stop before its successor can start.",
        "允许先停止旧副本再启动新副本的迁移。",
    ),
    "help_rebalance_wait": ("Wait until the moves are over.", "等待迁移结束。"),
    "help_simulate": (
        "Declare devices that are not there: COUNTxCHIP-MEMORY, such as 8x910B3-64G, or a YAML file.",
        "声明并不存在的设备：数量x芯片-显存，例如 8x910B3-64G，或一个 YAML 文件。",
    ),
    "help_model_root": (
        "A folder whose models may be served by path; may be given several times.",
        "允许按路径提供模型的目录，可重复给出。",
    ),
    "help_allowed_host": (
        "A host name under which browsers reach the console; may be given several times.",
        "浏览器访问控制台所用的主机名，可重复给出。",
    ),
    "help_worker_name": ("Name of this worker (the host's name).", "本工作节点的名称（默认主机名）。"),
    "help_labels": ("Labels of this worker, for placement.", "本工作节点的标签，用于调度。"),
    "help_config": ("A YAML file with settings.", "YAML 配置文件。"),
    "help_log_level": ("debug, info, warning or error.", "debug、info、warning 或 error。"),
    "help_join": (
        "Run a worker on this machine that belongs to the server at URL.",
        "在本机运行工作节点，并加入 URL 处的服务器。",
    ),
    "help_join_examples": (
        "\b\nExamples:\n  gpustack-lite join https://gpu.example.com --token - < token-file\n"
        "  GPUSTACK_LITE_TOKEN=... gpustack-lite join https://gpu.example.com --name rack2 --labels zone=b",
        "\b\n示例：\n  gpustack-lite join https://gpu.example.com --token - < token-file\n"
        "  GPUSTACK_LITE_TOKEN=... gpustack-lite join https://gpu.example.com --name rack2 --labels zone=b",
    ),
    "help_join_url": ("The server's address.", "服务器地址。"),
    "help_join_token": (
        "From `gpustack-lite workers token`; - reads it from standard input; needed once.",
        "由 `gpustack-lite workers token` 生成；- 表示从标准输入读取；只需一次。",
    ),
    "help_demo": (
        "Serve a small real model (SmolLM2) on llama.cpp, ask it something, and keep running until Ctrl-C.",
        "在 llama.cpp 上部署真实的小模型（SmolLM2）并提问，然后持续运行直到按下 Ctrl-C。",
    ),
    "help_demo_folder": ("Where the demo keeps everything.", "演示的所有数据所在目录。"),
    "help_demo_once": ("End everything after the first answer.", "得到第一个回答后全部结束。"),
    "help_doctor": (
        "Is this machine fit, and which devices does it have? Needs no server; exit code 1 if a check fails.",
        "本机是否适合运行、有哪些设备？不需要服务器；有检查失败时退出码为 1。",
    ),
    "help_doctor_examples": (
        "\b\nExamples:\n  gpustack-lite doctor\n  gpustack-lite doctor --simulate 8x910B3-64G -o json"
        "\n  gpustack-lite doctor --simulate 8x910B3-64G --plan driver=25.2.0",
        "\b\n示例：\n  gpustack-lite doctor\n  gpustack-lite doctor --simulate 8x910B3-64G -o json"
        "\n  gpustack-lite doctor --simulate 8x910B3-64G --plan driver=25.2.0",
    ),
    # shared
    "help_output": (
        "How to print it; json and yaml are the API's own documents.",
        "输出格式；json 与 yaml 为 API 原样文档。",
    ),
    "help_follow": ("Go on printing what is written.", "持续输出新内容。"),
    "help_attempt": ("The log of this attempt (the last one).", "查看第几次尝试的日志（默认最近一次）。"),
    "help_rank": (
        "Of several workers, the log of this one (0 leads).",
        "由多个工作节点承载时，查看第几个的日志（0 为主）。",
    ),
    "help_tail": ("Begin with the last so many lines.", "从最后多少行开始。"),
    "help_only_model": ("Only of this model.", "只看该模型。"),
    "help_only_worker": ("Only of this worker.", "只看该工作节点。"),
    "help_only_instance": ("Only of this instance.", "只看该实例。"),
    "help_only_key": ("Only with the key of this number.", "只看该编号的密钥。"),
    "help_only_user": ("Only of the user of this number.", "只看该编号的用户。"),
    "help_only_status": ("Only with this status, or of this class of them.", "只看该状态码，或该类状态码。"),
    "help_only_cause": ("Only those that ended for this cause.", "只看以该原因结束的请求。"),
    "help_only_request": ("Only with this id, ours or the client's own.", "只看该编号（我们的或客户端自定的）的请求。"),
    "help_limit": ("At most so many, the newest.", "最多显示多少条（最新的）。"),
    # models
    "help_models": ("Models: what is served.", "模型：对外提供的服务。"),
    "help_model_name": ("Name of the model.", "模型名称。"),
    "help_models_deploy": (
        "Create a model and wait until it is READY. Ctrl-C leaves it starting.",
        "创建模型并等待就绪（READY）。按 Ctrl-C 不会中断启动。",
    ),
    "help_models_deploy_examples": (
        "\b\nExamples:\n  gpustack-lite models deploy qwen --source /models/qwen2.5-0.5b.gguf\n"
        "  gpustack-lite models deploy qwen --source /models/q.gguf --option ctx-size=8192 --replicas 2\n"
        "  gpustack-lite models deploy big --source /models/big --device rack1:0 --device rack1:1 --no-wait",
        "\b\n示例：\n  gpustack-lite models deploy qwen --source /models/qwen2.5-0.5b.gguf\n"
        "  gpustack-lite models deploy qwen --source /models/q.gguf --option ctx-size=8192 --replicas 2\n"
        "  gpustack-lite models deploy big --source /models/big --device rack1:0 --device rack1:1 --no-wait",
    ),
    "help_source": (
        "A path on the worker, huggingface:org/name, modelscope:org/name or the URL of a GGUF.",
        "工作节点上的路径、huggingface:组织/名称、modelscope:组织/名称，或 GGUF 的 URL。",
    ),
    "help_revision": (
        "Branch, tag or commit of a hub's repository (its usual branch).",
        "模型仓库的分支、标签或提交（默认为常用分支）。",
    ),
    "help_include": (
        "Files of the repository that are wanted, such as '*Q8_0*'; repeat for more.",
        "需要的仓库文件，例如 '*Q8_0*'；可重复给出。",
    ),
    "help_backend": ("The engine (chosen by the model's format).", "推理引擎（默认按模型格式选择）。"),
    "help_backend_version": ("The engine's version.", "推理引擎版本。"),
    "help_replicas": (
        "How many replicas; auto(1,4) or 1..4 lets them follow the load.",
        "副本数；写 auto(1,4) 或 1..4 则随负载伸缩。",
    ),
    "help_scale_load": (
        "With auto: how many requests one replica should carry (the slots of its engine).",
        "与 auto 同用：每个副本应承担的请求数（默认取引擎的并发槽数）。",
    ),
    "help_up_after": (
        "With auto: how long the load must be too high before there are more (30).",
        "与 auto 同用：负载持续过高多少秒后增加副本（30）。",
    ),
    "help_down_after": (
        "With auto: how long fewer must suffice before there are fewer (300).",
        "与 auto 同用：较少副本已足够多少秒后减少副本（300）。",
    ),
    "help_option": (
        "An option of the engine without its dashes; may be given several times.",
        "引擎自身的选项（不带短横线），可重复给出。",
    ),
    "help_env": ("A variable for the engine; may be given several times.", "引擎的环境变量，可重复给出。"),
    "help_label": ("Only workers with this label; may be given several times.", "只用带该标签的工作节点，可重复给出。"),
    "help_device": ("Exactly this device; may be given several times.", "指定设备，可重复给出。"),
    "help_on_worker": ("Only on this worker; may be given several times.", "只用该工作节点，可重复给出。"),
    "help_chip": ("Only devices of this chip; may be given several times.", "只用该型号的芯片，可重复给出。"),
    "help_strategy": (
        "spread: the emptiest worker and devices; binpack: the fullest that fit.",
        "spread：选择最空闲的节点和设备；binpack：选择放得下的最满者。",
    ),
    "help_apart": ("No two replicas on one worker.", "同一工作节点上不放两个副本。"),
    "help_share_chips": (
        "Small replicas may share an Ascend chip, where the engine can.",
        "在引擎支持时，允许小副本共享一个昇腾芯片。",
    ),
    "help_trust_code": (
        "Let the engine run code that came with the model. Read it first: it can do what the engine can.",
        "允许引擎执行模型自带的代码。请先阅读代码：它能做引擎能做的一切。",
    ),
    "help_allow_pickle": (
        "Let the engine read pickled weights (.bin, .pt), which can run code.",
        "允许引擎读取 pickle 格式的权重（.bin、.pt），加载时可能执行代码。",
    ),
    "help_priority": (
        "Who is placed first when several wait; nothing that runs is ended.",
        "多个副本等待时谁先放置；不会结束正在运行的实例。",
    ),
    "help_wait": ("Wait until it is ready.", "等待就绪。"),
    "help_wait_timeout": ("Wait at most so long; 0 waits for ever.", "最长等待时间；0 表示一直等待。"),
    "help_models_update": (
        "Change a model. Engine options and variables start its engines anew, everything else does not.",
        "修改模型。引擎选项和环境变量会使引擎重新启动，其余修改不会。",
    ),
    "help_queue_length": (
        "How many requests may wait for a replica (per gateway).",
        "最多允许多少个请求排队等待副本（每个网关）。",
    ),
    "help_queue_seconds": ("How long a request may wait for a replica, in seconds.", "请求最多排队等待多少秒。"),
    "help_in_flight": (
        "How many requests a replica is given at once; the rest waits in the queue.",
        "同时交给一个副本的请求数上限，其余排队。",
    ),
    "help_affinity": (
        "Send a prompt where its beginning is cached.",
        "将请求发往已缓存其开头内容的副本。",
    ),
    "help_sleep_after": (
        "Stop the replicas after so many seconds without a request; the next one wakes them. 0: never.",
        "空闲多少秒后停止副本，下一个请求会将其唤醒；0 表示从不。",
    ),
    "help_pin": ("Never let it sleep.", "永不休眠。"),
    "help_reasoning": (
        "The field in which the model's reasoning is answered.",
        "答复中推理内容所用的字段名。",
    ),
    "help_model_limit": (
        "A limit for all callers together: requests_per_minute, tokens_per_minute, concurrency, tokens_per_day, "
        "tokens_per_month or timezone; null takes it away. May be given several times.",
        "对所有调用者合计的限制：requests_per_minute、tokens_per_minute、concurrency、tokens_per_day、"
        "tokens_per_month 或 timezone；设为 null 即取消。可重复给出。",
    ),
    "help_weight": (
        "How much of a worker's learned speed to assume; may be given several times.",
        "按该工作节点实测速度的多少倍来分配请求，可重复给出。",
    ),
    "help_models_list": ("All models and their states.", "全部模型及其状态。"),
    "help_models_show": ("One model and its instances.", "某个模型及其实例。"),
    "help_models_start": ("Run a stopped or failed model again.", "重新运行已停止或失败的模型。"),
    "help_models_stop": ("Stop a model and keep its description.", "停止模型但保留其配置。"),
    "help_models_scale": ("Change the number of replicas.", "修改副本数。"),
    "help_models_delete": ("Stop a model and forget it.", "停止并删除模型。"),
    "help_models_logs": ("What the newest instance's engine wrote.", "最新实例的引擎输出。"),
    "help_models_history": (
        "What its configuration was: when, by whom, what changed.",
        "配置历史：何时、由谁、改了什么。",
    ),
    "help_models_spec": (
        "Its configuration as YAML, as `models apply` takes it; now, or of a generation.",
        "以 YAML 输出配置，可供 `models apply` 使用；默认为当前配置，也可指定某一代。",
    ),
    "help_models_diff": (
        "How its configuration differs between a generation and another, or now.",
        "比较某一代配置与另一代（默认为当前）的差异。",
    ),
    "help_models_rollback": (
        "Change its configuration back to that of a generation; a new generation.",
        "将配置改回某一代的内容，并生成新的一代。",
    ),
    "help_models_apply": (
        "Make a model as a file says, or change it to be so.",
        "按文件创建模型；已存在时按文件修改。",
    ),
    "help_generation": ("Number of a generation: see `models history`.", "代号：见 `models history`。"),
    "help_of_generation": ("Of this generation instead of now.", "指定某一代，而非当前。"),
    "help_other_generation": ("Compare with this generation instead of now.", "与该代比较，而非当前。"),
    "help_spec_file": (
        "YAML or JSON, as `models spec` writes it; - is standard input.",
        "YAML 或 JSON，格式同 `models spec` 的输出；- 表示标准输入。",
    ),
    # other nouns
    "help_instances": ("Instances: the replicas of models.", "实例：模型的副本。"),
    "help_instance_id": ("Number of the instance.", "实例编号。"),
    "help_instances_list": ("All instances.", "全部实例。"),
    "help_instances_show": ("One instance and its story.", "某个实例及其经过。"),
    "help_instances_logs": ("What its engine wrote.", "其引擎的输出。"),
    "help_workers": ("Workers: the machines that models run on.", "工作节点：运行模型的机器。"),
    "help_worker": ("Name of the worker.", "工作节点名称。"),
    "help_workers_list": ("All workers.", "全部工作节点。"),
    "help_workers_show": ("One worker.", "某个工作节点。"),
    "help_workers_token": ("A token with which a machine joins.", "生成机器加入集群所用的令牌。"),
    "help_workers_delete": ("Take a worker out.", "移除工作节点。"),
    "help_workers_drain": (
        "Place nothing new on a worker; what runs there goes on.",
        "不再在该工作节点上放置新的实例；已运行的继续运行。",
    ),
    "help_workers_resume": ("Place instances on a worker again.", "重新允许在该工作节点上放置实例。"),
    "help_workers_force": (
        "Although it does not answer: you vouch that nothing of ours runs there any more.",
        "即使它没有应答：由你保证其上已无本程序的进程。",
    ),
    "help_devices": ("Devices: the accelerators of all workers.", "设备：全部工作节点的加速卡。"),
    "help_devices_list": ("All devices.", "全部设备。"),
    "help_device_ref": ("A device: its id, or WORKER:INDEX.", "设备：编号，或 工作节点:序号。"),
    "help_devices_show": ("One device, with its fault and its cordon.", "查看单个设备，包括故障和封锁。"),
    "help_devices_cordon": (
        "Place nothing new on a device; what runs there goes on.",
        "不再在该设备上放置新的实例；已运行的继续运行。",
    ),
    "help_devices_note": ("Why, for others to read.", "原因，供他人查看。"),
    "help_devices_uncordon": (
        "Use a device again, whether it was cordoned or isolated for a fault.",
        "重新使用该设备，无论是被封锁还是因故障被隔离。",
    ),
    "help_keys": ("API keys for programs.", "程序使用的 API 密钥。"),
    "help_key_name": ("Name of the key.", "密钥名称。"),
    "help_keys_create": ("Make a key; it is shown once.", "生成密钥，仅显示一次。"),
    "help_keys_create_examples": (
        "\b\nExamples:\n  gpustack-lite keys create my-app --model qwen --days 90\n"
        "  gpustack-lite keys create ci --scope manage -o json",
        "\b\n示例：\n  gpustack-lite keys create my-app --model qwen --days 90\n"
        "  gpustack-lite keys create ci --scope manage -o json",
    ),
    "help_scope": (
        "inference (default), read or manage; may be given several times.",
        "inference（默认）、read 或 manage，可重复给出。",
    ),
    "help_key_model": (
        "Only this model (* is a wildcard); may be given several times.",
        "只能用于该模型（* 为通配符），可重复给出。",
    ),
    "help_key_days": ("Works for so many days.", "有效天数。"),
    "help_keys_update": (
        "Change a key's limits, weight or end, or disable it.",
        "修改密钥的限制、权重或有效期，或停用密钥。",
    ),
    "help_keys_update_examples": (
        "\b\nExamples:\n  gpustack-lite keys update my-app --rpm 60 --tokens-per-day 100000 --timezone Asia/Shanghai\n"
        "  gpustack-lite keys update my-app --rpm 0\n  gpustack-lite keys update my-app --disable",
        "\b\n示例：\n  gpustack-lite keys update my-app --rpm 60 --tokens-per-day 100000 --timezone Asia/Shanghai\n"
        "  gpustack-lite keys update my-app --rpm 0\n  gpustack-lite keys update my-app --disable",
    ),
    "help_key_enable": (
        "A disabled key is refused within two seconds, answers under way are ended.",
        "停用后两秒内拒绝该密钥，正在进行的答复也会中断。",
    ),
    "help_key_weight": (
        "Its share of a queue against the others' weights (1 to 1000).",
        "排队时相对于其他密钥的份额（1 到 1000）。",
    ),
    "help_rpm": ("Requests per minute; 0: no limit.", "每分钟请求数，0 表示不限。"),
    "help_tpm": ("Tokens per minute, prompt and answer; 0: no limit.", "每分钟 token 数（输入加输出），0 表示不限。"),
    "help_concurrency": ("Requests at the same time; 0: no limit.", "同时进行的请求数，0 表示不限。"),
    "help_tokens_per_day": ("Budget of tokens per calendar day; 0: none.", "每个自然日的 token 预算，0 表示不限。"),
    "help_tokens_per_month": ("Budget of tokens per calendar month; 0: none.", "每个自然月的 token 预算，0 表示不限。"),
    "help_limit_timezone": (
        "Whose days and months these are, such as Asia/Shanghai (default UTC).",
        "日和月按哪个时区计算，例如 Asia/Shanghai（默认 UTC）。",
    ),
    "help_users_update": (
        "Change a user's role, or what all keys and sessions of the user may use together.",
        "修改用户的角色，或其所有密钥和会话合计的限制。",
    ),
    "help_users_update_examples": (
        "\b\nExample:\n  gpustack-lite users update ada --concurrency 20 --tokens-per-month 5000000",
        "\b\n示例：\n  gpustack-lite users update ada --concurrency 20 --tokens-per-month 5000000",
    ),
    "help_keys_list": ("All keys, without their secrets.", "全部密钥（不含密文）。"),
    "help_keys_show": ("One key with its limits, without its secret.", "单个密钥及其限额（不含密文）。"),
    "help_keys_delete": ("Delete a key; it stops working within seconds.", "删除密钥，数秒内失效。"),
    "help_routes": (
        "Routes: other names for models, or one name over several of them.",
        "路由：模型的别名，或覆盖多个模型的同一名称。",
    ),
    "help_route_name": ("The public name.", "对外名称。"),
    "help_route_target": (
        "A model behind the name, and its share of the requests (0 to 1000, 1); may be given several times.",
        "该名称背后的模型及其请求份额（0 到 1000，默认 1），可重复给出。",
    ),
    "help_route_fallback": (
        "Serves when no target can; may be given several times.",
        "当所有目标都不可用时提供服务，可重复给出。",
    ),
    "help_route_no_fallback": ("Take every fallback away.", "移除全部备用模型。"),
    "help_routes_list": ("All routes.", "全部路由。"),
    "help_routes_show": ("One route.", "某个路由。"),
    "help_routes_create": ("Let a name lead to models.", "让一个名称指向模型。"),
    "help_routes_create_examples": (
        "\b\nExamples:\n  gpustack-lite routes create gpt-4o --target qwen\n"
        "  gpustack-lite routes create chat --target new=1 --target old=9 --fallback small",
        "\b\n示例：\n  gpustack-lite routes create gpt-4o --target qwen\n"
        "  gpustack-lite routes create chat --target new=1 --target old=9 --fallback small",
    ),
    "help_routes_update": (
        "Replace the targets or the fallback; requests in flight are not touched.",
        "替换目标或备用模型，不影响进行中的请求。",
    ),
    "help_routes_delete": ("Take the name away; its models stay.", "移除该名称，其模型保留。"),
    "help_users": ("Users: who may sign in.", "用户：谁可以登录。"),
    "help_username": ("Name of the user.", "用户名。"),
    "help_users_list": ("All users.", "全部用户。"),
    "help_users_reset": (
        "Give a user a new random password. On the server's own host this works without signing in.",
        "为用户生成新的随机密码。在服务器本机上无需登录即可执行。",
    ),
    "help_events": ("Events: what happened, and when.", "事件：发生过什么、何时发生。"),
    "help_events_list": ("The newest events first.", "最新事件在前。"),
    "help_backends": ("Backends: the engines that models run on.", "后端：运行模型的推理引擎。"),
    "help_backends_list": ("All backends.", "全部后端。"),
    "help_backends_create": ("Describe an engine of your own.", "添加自定义推理引擎。"),
    "help_backends_create_examples": (
        "\b\nExample of a FILE:\n  name: mine\n"
        "  command: [my-engine, --port, '{{port}}', --model, '{{model_path}}']\n"
        "  device_kinds: [cpu]\n  probe: {{path: /health, deadline_seconds: 60}}\n"
        "  claim: {{ram_bytes: 100000000}}",
        "\b\nFILE 示例：\n  name: mine\n"
        "  command: [my-engine, --port, '{{port}}', --model, '{{model_path}}']\n"
        "  device_kinds: [cpu]\n  probe: {{path: /health, deadline_seconds: 60}}\n"
        "  claim: {{ram_bytes: 100000000}}",
    ),
    "help_backend_file": ("YAML or JSON; - reads standard input.", "YAML 或 JSON 文件；- 表示标准输入。"),
    "help_backends_delete": ("Forget an engine of your own.", "删除自定义推理引擎。"),
    "help_usage": ("Requests and tokens, summed.", "请求数与 token 数汇总。"),
    "help_usage_examples": (
        "\b\nExamples:\n  gpustack-lite usage\n  gpustack-lite usage --by key,model --from 2026-01-01T00:00:00Z",
        "\b\n示例：\n  gpustack-lite usage\n  gpustack-lite usage --by key,model --from 2026-01-01T00:00:00Z",
    ),
    "help_usage_by": ("What to sum by.", "按什么汇总。"),
    "help_usage_from": ("From this time on.", "起始时间（含）。"),
    "help_usage_to": ("Before this time.", "截止时间（不含）。"),
    "help_requests": ("Requests: what became of each, and why.", "请求：每个请求的结果与原因。"),
    "help_requests_list": ("The newest requests first.", "最新请求在前。"),
    "help_requests_examples": (
        "\b\nExamples:\n  gpustack-lite requests list --status 5xx\n  gpustack-lite requests list --model qwen",
        "\b\n示例：\n  gpustack-lite requests list --status 5xx\n  gpustack-lite requests list --model qwen",
    ),
    "help_requests_show": ("One request, and why it ended as it did.", "某个请求及其结束原因。"),
    "help_request_id": (
        "What the answer's header X-Request-ID said.",
        "答复头 X-Request-ID 的值。",
    ),
    "help_login": (
        "Sign in to a server and remember it for the other commands.",
        "登录服务器，供其他命令使用。",
    ),
    "help_login_examples": (
        "\b\nExamples:\n  gpustack-lite login https://gpu.example.com\n"
        "  gpustack-lite login --password-stdin < /var/lib/gpustack-lite/initial_admin_password",
        "\b\n示例：\n  gpustack-lite login https://gpu.example.com\n"
        "  gpustack-lite login --password-stdin < /var/lib/gpustack-lite/initial_admin_password",
    ),
    "help_login_url": ("The server's address.", "服务器地址。"),
    "help_password_stdin": ("Read the password from standard input.", "从标准输入读取密码。"),
    "help_evaluate": (
        "Does a model fit? Nothing is downloaded or started. Exit code 1: it does not fit.",
        "模型能否放下？不下载也不启动任何东西。退出码 1 表示放不下。",
    ),
    "help_evaluate_examples": (
        "\b\nExamples:\n  gpustack-lite evaluate /models/qwen3-14b --option max-model-len=4096\n"
        "  gpustack-lite evaluate ./qwen2.5-7b-q4.gguf --simulate 8x910B3-64G",
        "\b\n示例：\n  gpustack-lite evaluate /models/qwen3-14b --option max-model-len=4096\n"
        "  gpustack-lite evaluate ./qwen2.5-7b-q4.gguf --simulate 8x910B3-64G",
    ),
    "help_variant": (
        "The same model in other files (such as a quantised one), to be offered where SOURCE does not fit; repeatable.",
        "同一模型的其他文件（例如量化版本），SOURCE 放不下时作为备选；可重复。",
    ),
    "help_evaluate_simulate": (
        "Ask about devices that are described (8x910B3-64G, or a YAML file) instead of a server's workers.",
        "针对所描述的设备（8x910B3-64G 或 YAML 文件）评估，而不询问服务器。",
    ),
    "help_simulate_plan": (
        "Which models fit on which machines? Both are described in YAML; nothing runs. Exit code 1: not all fit.",
        "哪些模型能放在哪些机器上？两者都用 YAML 描述，不运行任何东西。退出码 1 表示有放不下的。",
    ),
    "help_simulate_plan_examples": (
        "\b\nExamples:\n  gpustack-lite simulate cluster.yaml workload.yaml\n"
        "  gpustack-lite simulate --replay decision.json",
        "\b\n示例：\n  gpustack-lite simulate cluster.yaml workload.yaml\n"
        "  gpustack-lite simulate --replay decision.json",
    ),
    "help_cluster_file": ("The workers: devices, RAM, disk, labels.", "工作节点：设备、内存、磁盘、标签。"),
    "help_workload_file": ("The models: source, backend, replicas, options.", "模型：来源、后端、副本数、选项。"),
    "help_replay": (
        "Answer a decision once more that was written as JSON (GET /api/v1/instances/ID/decision).",
        "重放以 JSON 保存的决策（GET /api/v1/instances/ID/decision）。",
    ),
    "help_chat": (
        "Talk to a model: one question, or line by line without PROMPT.",
        "与模型对话：给出 PROMPT 提一个问题，否则逐行对话。",
    ),
    "help_chat_examples": (
        '\b\nExamples:\n  gpustack-lite chat qwen "Why is the sky blue?"\n  cat report.txt | gpustack-lite chat qwen\n'
        "  gpustack-lite chat qwen",
        '\b\n示例：\n  gpustack-lite chat qwen "天空为什么是蓝色的？"\n  cat report.txt | gpustack-lite chat qwen\n'
        "  gpustack-lite chat qwen",
    ),
    "help_prompt": ("The question; without it standard input is read.", "问题；不给出时读取标准输入。"),
    "help_system": ("A system message before the first question.", "第一个问题之前的系统提示。"),
    "help_max_tokens": ("At most so many tokens in an answer.", "回答最多多少个 token。"),
    "help_temperature": ("0 is the most predictable.", "0 表示最确定。"),
}
