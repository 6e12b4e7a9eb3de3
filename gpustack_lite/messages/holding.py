"""Sentences of model files on workers: fetched from hubs, kept, deleted."""

SENTENCES: dict[str, tuple[str, str]] = {
    # the worker
    "files_bad_name": (
        "The repository holds a file whose name could lead out of its directory, or that no disk takes: {name}. "
        "Nothing of it is fetched.",
        "仓库中有文件名可能越出目录或无法写入磁盘：{name}。不会下载任何文件。",
    ),
    "files_outside": (
        "{path} is not a directory of ours: remove it, then resume the files.",
        "{path} 不是本程序的目录：请将其移走，然后继续下载。",
    ),
    "files_corrupt": (
        "{name} came {tries} times with other bytes than the hub promises: try again later, or use another mirror.",
        "{name} 下载了 {tries} 次，内容均与仓库记录不符：请稍后重试或更换镜像。",
    ),
    "files_cut_short": (
        "The download of {name} was cut after {done_bytes} of {size_bytes}; it goes on from there.",
        "{name} 的下载在 {size_bytes} 中的 {done_bytes} 处中断，将从该处继续。",
    ),
    "files_checking": (
        "A copy of {name} lies on this machine already and is held against its hash.",
        "本机已有 {name} 的副本，正在校验其哈希。",
    ),
    "files_fetched_by_another": (
        "{name} is being fetched by another process or for another model: waiting for it.",
        "{name} 正由另一进程或为另一模型下载：等待其完成。",
    ),
    "files_no_room": (
        "The disk of {path} has {free_bytes} free; {needed_bytes} are still to come and {reserve_bytes} are to stay "
        "free (disk_reserve_bytes): make room for {lacking_bytes}. The download begins by itself then.",
        "{path} 所在磁盘剩余 {free_bytes}，还需下载 {needed_bytes}，并保留 {reserve_bytes}（disk_reserve_bytes）："
        "请腾出 {lacking_bytes}，之后下载会自动开始。",
    ),
    "files_disk_full": (
        "The disk of {path} filled up during the download, {free_bytes} are free: make room. "
        "It goes on by itself then.",
        "下载期间 {path} 所在磁盘已满，剩余 {free_bytes}：请腾出空间，之后会自动继续。",
    ),
    "files_disk_error": (
        "The disk says of {path}: {why}. It is tried again every ten seconds.",
        "磁盘操作 {path} 失败：{why}。每十秒重试一次。",
    ),
    "files_paused": (
        "The download of the files {id} was paused: go on with `gpustack-lite files resume {id}`.",
        "文件 {id} 的下载已暂停：请用 `gpustack-lite files resume {id}` 继续。",
    ),
    "files_not_assigned": (
        "The files {id} are not, or no longer, to be on this worker: start the model again.",
        "文件 {id} 未分配给此工作节点或正在删除：请重新启动模型。",
    ),
    # the API
    "files_in_use": (
        "The files {id} ({source}) are needed by {instances}: stop the model first.",
        "文件 {id}（{source}）正被 {instances} 使用：请先停止模型。",
    ),
    "files_being_deleted": (
        "The files {id} ({source}) are being deleted: add them again when they are gone.",
        "文件 {id}（{source}）正在删除：请在删除完成后重新添加。",
    ),
    "files_not_remote": (
        "{source} is no source that is fetched: name a repository (huggingface:org/name, modelscope:org/name) "
        "or the https address of a GGUF.",
        "{source} 不是需要下载的来源：请填写仓库（huggingface:org/name、modelscope:org/name）"
        "或 GGUF 文件的 https 地址。",
    ),
    "files_which_worker": (
        "Say which worker is to have the files: there are {names}.",
        "请指定由哪个工作节点保存文件：现有 {names}。",
    ),
    # the diary
    "event_files_added": (
        "The files of {source} were asked for on worker {worker}.",
        "已要求工作节点 {worker} 下载 {source} 的文件。",
    ),
    "event_files_ready": (
        "Worker {worker} has the files of {source}, {size_bytes}.",
        "工作节点 {worker} 已备好 {source} 的文件，共 {size_bytes}。",
    ),
    "event_files_failed": (
        "Worker {worker} cannot get the files of {source}.",
        "工作节点 {worker} 无法获取 {source} 的文件。",
    ),
    "event_files_deleted": (
        "Worker {worker} deleted the files of {source}.",
        "工作节点 {worker} 已删除 {source} 的文件。",
    ),
    # the command line
    "help_files": ("Model files on workers: fetch, pause, delete.", "工作节点上的模型文件：下载、暂停、删除。"),
    "help_files_list": ("All files, and how far they have come.", "全部文件及其进度。"),
    "help_files_show": ("One row with all its fields.", "某一项的全部字段。"),
    "help_files_add": (
        "Fetch files before a model needs them; what a model needs is fetched without this.",
        "在模型使用之前预先下载；模型所需的文件无需此命令也会下载。",
    ),
    "help_files_add_examples": (
        "Example: gpustack-lite files add huggingface:org/name --include '*Q4_K_M*' --worker w1",
        "示例：gpustack-lite files add huggingface:org/name --include '*Q4_K_M*' --worker w1",
    ),
    "help_files_pause": ("Stop fetching; what came stays.", "暂停下载；已下载的部分会保留。"),
    "help_files_resume": ("Go on fetching.", "继续下载。"),
    "help_files_delete": (
        "Delete them from the disk, unless an instance needs them.",
        "从磁盘删除；有实例使用时会拒绝。",
    ),
    "help_files_id": ("The number of the files, as `files list` shows it.", "文件编号，见 `files list`。"),
    "help_files_source": (
        "huggingface:org/name, modelscope:org/name, or the https address of a GGUF.",
        "huggingface:org/name、modelscope:org/name，或 GGUF 文件的 https 地址。",
    ),
    "help_files_revision": ("A branch, a tag or a commit.", "分支、标签或提交。"),
    "help_files_include": (
        "Only files that match this pattern; may be given several times.",
        "只下载匹配此模式的文件；可多次给出。",
    ),
    "help_files_worker": ("The worker that is to have them.", "保存文件的工作节点。"),
    "files_added": ("Fetching {source} on {worker}: files {id}.", "正在 {worker} 上下载 {source}：文件 {id}。"),
    "files_pausing": ("Files {id}: paused.", "文件 {id}：已暂停。"),
    "files_resuming": ("Files {id}: going on.", "文件 {id}：继续下载。"),
    "files_deleting": ("Files {id}: being deleted.", "文件 {id}：正在删除。"),
    "column_files_done": ("DONE", "已完成"),
    "column_files_rate": ("RATE", "速率"),
    "column_files_eta": ("ETA", "剩余时间"),
    "column_files_users": ("USED BY", "使用者"),
    "column_files_size": ("SIZE", "大小"),
    "column_files_state": ("STATE", "状态"),
    "column_revision": ("REVISION", "版本"),
}
