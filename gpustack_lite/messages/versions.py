"""Sentences of engine builds: asked for, made on workers, run in containers."""

from gpustack_lite.messages import compatibility

_UNFIT = (
    ("engine_not_on_chip", "remedy_engine_chips"),
    ("cann_differs", "remedy_engine_for_cann"),
    ("cann_differs", "remedy_cann"),
    ("driver_too_old", "remedy_driver"),
    ("driver_too_old", "remedy_driver_or_engine"),
    ("capability_too_low", "remedy_capability"),
    ("nvidia_driver_too_old", "remedy_nvidia_driver"),
    ("nvidia_driver_too_old", "remedy_nvidia_driver_or_engine"),
)
"""What is wrong with a build on a host and what would be right, said together by who refuses it."""


def _joined(why: str, remedy: str) -> tuple[str, str]:
    english, chinese = (
        "".join((first, mark, then))
        for first, mark, then in zip(
            compatibility.SENTENCES[why], (" ", ""), compatibility.SENTENCES[remedy], strict=True
        )
    )
    return english, chinese


SENTENCES: dict[str, tuple[str, str]] = {
    # asking
    "engine_recipe_missing": (
        "There is no recipe of {backend} for {kind} (there is for: {kinds}): name one of these with --for, or bring "
        "a build of your own with --path or --image.",
        "{backend} 没有面向 {kind} 的安装方法（现有：{kinds}）：请用 --for 指定其中之一，"
        "或用 --path、--image 使用自备版本。",
    ),
    "engine_recipe_unlisted": (
        "Which packages belong to {backend} {version} is not documented here: choose one of {known}, or bring a "
        "build of your own with --path or --image.",
        "未记录 {backend} {version} 所需的软件包：请选择 {known} 之一，或用 --path、--image 使用自备版本。",
    ),
    "engine_image_unknown": (
        "It is not known how {backend} is started in an image; known are {names}.",
        "不清楚 {backend} 在镜像中如何启动；已知的有 {names}。",
    ),
    "engine_not_for_kind": (
        "{backend} does not run on {kind}, only on {kinds}.",
        "{backend} 不支持 {kind}，仅支持 {kinds}。",
    ),
    "engine_version_malformed": (
        "{version} is no version: up to 64 of letters, digits and . _ + -, as in 0.32.0.",
        "{version} 不是有效版本：最多 64 个字母、数字及 . _ + -，例如 0.32.0。",
    ),
    "engine_spec_malformed": (
        "{given} does not say which engine in which version: write it as vllm==0.32.0.",
        "{given} 没有说明引擎及版本：请写成 vllm==0.32.0 的形式。",
    ),
    "engine_path_and_image": (
        "A build is either at a path or in an image: name one of the two.",
        "版本要么位于路径，要么位于镜像：请只指定其一。",
    ),
    "engine_path_relative": (
        "{path} is no absolute path on the workers: begin it with a slash.",
        "{path} 不是节点上的绝对路径：请以斜杠开头。",
    ),
    "engine_image_malformed": (
        "{image} is no name of an image: write it as registry/name:tag.",
        "{image} 不是有效的镜像名：请写成 registry/name:tag 的形式。",
    ),
    "engine_version_exists": (
        "{backend} {version} is there already (build {id}), made in another way: remove that one first, or add a "
        "label to the version, as in {version}+image.",
        "{backend} {version} 已存在（版本 {id}），但安装方式不同：请先移除，或为版本加标签，例如 {version}+image。",
    ),
    "engine_version_in_use": (
        "{backend} {version} is needed by {instances}: stop or move these first.",
        "{backend} {version} 正被 {instances} 使用：请先停止或迁移它们。",
    ),
    "engine_version_unclear": (
        "There is no single build {given} that somebody asked for: name it by its id, of {ids}.",
        "没有唯一对应 {given} 的版本：请用编号指定，现有 {ids}。",
    ),
    # making
    "engine_step_failed": (
        "The environment lacks {package} after it was installed: remove the build and install it again.",
        "安装后环境中缺少 {package}：请移除该版本后重新安装。",
    ),
    "engine_build_other_kind": (
        "{backend} {version} was installed for {have}, not for {kind}: install it with --for {kind} too.",
        "{backend} {version} 是为 {have} 安装的，而非 {kind}：请同时用 --for {kind} 安装。",
    ),
    # containers
    "engine_no_container_cli": (
        "This worker has no {names}, in which the image could run: install one of them, or set container_cli.",
        "该节点没有可运行镜像的 {names}：请安装其中之一，或设置 container_cli。",
    ),
    "engine_image_pull_failed": (
        "The image {image} could not be fetched: {why}",
        "镜像 {image} 拉取失败：{why}",
    ),
    "engine_container_devices": (
        "It is not known how {device} ({kind}) is given to a container: use a build by recipe or by path there.",
        "不清楚如何将 {device}（{kind}）映射到容器：请在该设备上使用安装版本或路径版本。",
    ),
    "engine_env_not_one_line": (
        "The variable {name} has several lines, which no container takes: put it on one line.",
        "变量 {name} 含多行内容，容器无法接受：请写成一行。",
    ),
    # the command line
    "engine_version_asked": (
        "{backend} {version} for {kind} is asked for as build {id}: `gpustack-lite backends versions` shows how far "
        "the workers are.",
        "已请求 {kind} 上的 {backend} {version}（版本 {id}）：可用 `gpustack-lite backends versions` 查看进度。",
    ),
    "engine_version_ready": ("{backend} {version} is ready on {workers}.", "{backend} {version} 已在 {workers} 就绪。"),
    "engine_version_failed": (
        "{backend} {version} could not be installed on {worker}: {message}",
        "{backend} {version} 在 {worker} 上安装失败：{message}",
    ),
    "engine_version_late": (
        "{backend} {version} is not ready yet; the workers go on. See `gpustack-lite backends versions`.",
        "{backend} {version} 尚未就绪，节点会继续安装。请查看 `gpustack-lite backends versions`。",
    ),
    "engine_version_progress": ("{worker}: {line}", "{worker}：{line}"),
    "engine_default_set": (
        "New instances on {kind} take {backend} {version}; those that run keep theirs.",
        "{kind} 上的新实例将使用 {backend} {version}；运行中的实例保持不变。",
    ),
    "engine_version_gone": (
        "{backend} {version} is removed; the workers delete their copies.",
        "{backend} {version} 已移除，节点会删除各自的副本。",
    ),
    "event_engine_version_wanted": (
        "{backend} {version} is to be installed for {device_kind}.",
        "将为 {device_kind} 安装 {backend} {version}。",
    ),
    "event_engine_version_default": (
        "{backend} {version} is the default on {device_kind}.",
        "{backend} {version} 已成为 {device_kind} 的默认版本。",
    ),
    "event_engine_version_removed": (
        "{backend} {version} for {device_kind} was removed.",
        "已移除 {device_kind} 的 {backend} {version}。",
    ),
    "column_device_kinds_for": ("FOR", "面向"),
    "column_build_default": ("DEFAULT", "默认"),
    "column_build_state": ("STATE", "状态"),
    "column_build_workers": ("WORKERS", "节点"),
    "column_build_users": ("USED BY", "使用者"),
    "help_backends_install": ("Install a version of an engine on the workers.", "在节点上安装某一版本的推理引擎。"),
    "help_backends_install_examples": (
        "Example: gpustack-lite backends install vllm==0.32.0 --for cpu",
        "示例：gpustack-lite backends install vllm==0.32.0 --for cpu",
    ),
    "help_backends_versions": ("Versions of engines and where they are.", "推理引擎的版本及其所在节点。"),
    "help_backends_set_default": ("New instances take this version.", "新实例使用该版本。"),
    "help_backends_remove": ("Remove a version that nothing uses.", "移除无人使用的版本。"),
    "help_engine_spec": ("The engine and its version, as in vllm==0.32.0.", "引擎及版本，例如 vllm==0.32.0。"),
    "help_engine_for": ("For which devices: cpu, cuda, ascend ...", "面向的设备：cpu、cuda、ascend 等。"),
    "help_engine_workers": ("Only on this worker (may be repeated).", "仅在该节点安装（可重复）。"),
    "help_engine_default": ("New instances take it.", "新实例使用该版本。"),
    "help_engine_path": (
        "It is on the workers already: a program, or an environment.",
        "节点上已有：程序或 Python 环境的路径。",
    ),
    "help_engine_image": ("It is in an image of docker or podman.", "位于 docker 或 podman 镜像中。"),
    "help_engine_wait": ("Wait until the workers have it.", "等待节点安装完成。"),
    "help_engine_backend": ("Only of this engine.", "仅列出该引擎。"),
    "help_engine_ref": ("Its id, or ENGINE==VERSION.", "编号，或 引擎==版本。"),
}
SENTENCES |= {f"{why}_{remedy}": _joined(why, remedy) for why, remedy in _UNFIT}
