"""Sentences of the server."""

SENTENCES: dict[str, tuple[str, str]] = {
    "nothing_waits": ("No model waits for room.", "没有模型在等待资源。"),
    "model_does_not_wait": ("The model {name} does not wait for room.", "模型 {name} 没有在等待资源。"),
    "no_moves_help": (
        "No moves of up to {most} replicas of one worker make room for {names}: `instances show` of what waits "
        "says what else would help.",
        "在单个节点上迁移至多 {most} 个副本也无法为 {names} 腾出空间：请用 `instances show` 查看其他办法。",
    ),
    "moves_stop_first": (
        "{names} must stop before the successor can start, and serve nobody meanwhile: allow it with --allow-stop "
        "(allow_stop), or look at it with --dry-run.",
        "{names} 必须先停止才能启动新副本，期间不提供服务：请用 --allow-stop（allow_stop）允许，"
        "或用 --dry-run 查看方案。",
    ),
    "rebalance_running": (
        "A rebalance for {name} ({id}) runs already: wait until it is over.",
        "为 {name} 进行的迁移（{id}）尚未结束：请等待其完成。",
    ),
    "rebalanced": ("The moves for {name} are over ({count}).", "为 {name} 进行的迁移已完成（{count} 个）。"),
    "move_place_taken": (
        "Replica {id} of {name} stays on {source}: {target} is no longer free. Look again with --dry-run.",
        "{name} 的副本 {id} 留在 {source}：{target} 已不再空闲。请用 --dry-run 重新查看。",
    ),
    "moved_one_failed": (
        "Replica {id} of {name} stays on {source}: its successor on {target} did not start. Read its log.",
        "{name} 的副本 {id} 留在 {source}：位于 {target} 的新副本未能启动，请查看其日志。",
    ),
    "bad_database_url": (
        "The database URL is not valid: write sqlite:///PATH or postgresql://USER@HOST/NAME.",
        "数据库地址无效：请写成 sqlite:///路径 或 postgresql://用户@主机/库名。",
    ),
    "postgres_driver_missing": (
        "PostgreSQL needs its driver: install gpustack-lite[postgres].",
        "使用 PostgreSQL 需要驱动：请安装 gpustack-lite[postgres]。",
    ),
    "data_dir_not_writable": (
        "The data directory {path} cannot be written ({why}): give another one with --data-dir or change its owner.",
        "数据目录 {path} 不可写（{why}）：请用 --data-dir 指定其他目录，或更改其属主。",
    ),
    "data_dir_in_use": (
        "Another server (process {pid}) uses the data directory {path}: stop it, or give another --data-dir.",
        "数据目录 {path} 已被另一个服务进程（PID {pid}）占用：请先停止它，或另选 --data-dir。",
    ),
    "database_newer": (
        "The database was written by a newer version (revision {found}, this program knows {known}): "
        "install that version again, or restore a backup made before the upgrade.",
        "数据库由更新的版本写入（修订 {found}，本程序只认识到 {known}）：请重新安装该版本，或恢复升级前的备份。",
    ),
    "database_unreadable": (
        "The database {path} cannot be read ({why}): restore a backup, or move the file away to start empty.",
        "无法读取数据库 {path}({why})：请恢复备份，或移走该文件后以空库启动。",
    ),
    "database_unreachable": (
        "The database at {where} does not answer ({why}): check the address, the password and that it runs.",
        "位于 {where} 的数据库没有应答（{why}）：请检查地址、密码以及数据库是否在运行。",
    ),
    "not_leading": (
        "Another server holds the lease; this one writes nothing until it holds it again.",
        "租约由另一台服务器持有；本服务器在重新取得租约前不会写入。",
    ),
    "facts_awaited": (
        "The worker {worker} has not yet said what it finds at {source}.",
        "节点 {worker} 尚未报告 {source} 的内容。",
    ),
    "backend_version_missing": (
        "The worker {worker} does not offer version {version} of {backend}: name another one or none.",
        "节点 {worker} 不提供 {backend} 的版本 {version}：请指定其他版本或不指定。",
    ),
    "model_stopped": (
        "The model {model} is stopped: start it with `models start {model}`.",
        "模型 {model} 已停止：请用 `models start {model}` 启动。",
    ),
    "model_sleeping": (
        "The model {model} sleeps because nobody used it: the next request wakes it.",
        "模型 {model} 因空闲而休眠：下一个请求会将其唤醒。",
    ),
    "model_pending": ("The model {model} waits for a place.", "模型 {model} 正在等待分配资源。"),
    "model_starting": ("The model {model} is starting on {worker}.", "模型 {model} 正在 {worker} 上启动。"),
    "model_failed": (
        "The model {model} failed and is not tried again: read `models logs {model}`, then `models start {model}`.",
        "模型 {model} 启动失败且不再重试：请查看 `models logs {model}`，然后执行 `models start {model}`。",
    ),
    "worker_lost_instance": (
        "The worker {worker} has been silent for {silent_seconds} s; the instance is replaced elsewhere.",
        "节点 {worker} 已失联 {silent_seconds} 秒；该实例将在别处重新启动。",
    ),
    "waits_for_members": (
        "The engine of the leader answers, but those of its followers on {workers} do not all run yet.",
        "主节点的引擎已应答，但 {workers} 上的从节点引擎尚未全部运行。",
    ),
    "member_failed": (
        "The share on the worker {worker} (rank {rank}) ended: {last_line}. All shares of the replica begin again "
        "together.",
        "工作节点 {worker} 上的部分（序号 {rank}）已结束：{last_line}。此副本的各部分将一同重新启动。",
    ),
    "engine_gone": (
        "The engine ended together with its worker's agent and is started again.",
        "引擎随节点代理一同结束，正在重新启动。",
    ),
}
