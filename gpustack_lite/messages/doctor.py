"""Sentences of `doctor` about machines with accelerators, and about what is reached from them."""

SENTENCES: dict[str, tuple[str, str]] = {
    "check_tool": ("`{command}` lists the devices.", "`{command}` 已列出设备。"),
    "check_fault": (
        "{device} tells a fault: {fault} (health {health}).",
        "{device} 报告故障：{fault}（健康状态 {health}）。",
    ),
    "remedy_fault": (
        "See `gpustack-lite devices show {device}` and docs/faults.md; a card that needs a reset is isolated until it "
        "had one.",
        "请查看 `gpustack-lite devices show {device}` 和 docs/faults.md；需要复位的卡在复位之前将被隔离。",
    ),
    "check_nodes": ("All {count} device nodes of the NPUs are there.", "NPU 的 {count} 个设备节点齐全。"),
    "check_nodes_missing": ("These device nodes are missing: {nodes}.", "缺少设备节点：{nodes}。"),
    "remedy_nodes": (
        "On a host: load the driver (npu-smi info), reboot after an upgrade. In a container: map them with --device.",
        "宿主机：加载驱动（npu-smi info），升级后请重启。容器：使用 --device 映射。",
    ),
    "check_driver": ("The driver is {version}.", "驱动版本为 {version}。"),
    "check_driver_unknown": (
        "The version of the driver is not known: driver/version.info cannot be read.",
        "无法得知驱动版本：不能读取 driver/version.info。",
    ),
    "remedy_driver_unknown": (
        "In a container, map /usr/local/Ascend/driver/version.info and /etc/ascend_install.info.",
        "容器中请映射 /usr/local/Ascend/driver/version.info 和 /etc/ascend_install.info。",
    ),
    "check_cann": ("CANN is {version}.", "CANN 版本为 {version}。"),
    "check_cann_unknown": (
        "No CANN toolkit was found: engines that are no images need one.",
        "未找到 CANN 工具包：非镜像方式的引擎需要它。",
    ),
    "remedy_cann_unknown": (
        "Install the CANN that the engine's version names, or set GPUSTACK_LITE_ASCEND_ROOT to where it is.",
        "请安装引擎版本对应的 CANN，或将 GPUSTACK_LITE_ASCEND_ROOT 设为其所在目录。",
    ),
    "check_firmware": ("The firmware is {version}.", "固件版本为 {version}。"),
    "check_firmware_fits": (
        "The firmware is {version}; the driver works with {ranges}.",
        "固件版本为 {version}；驱动适配 {ranges}。",
    ),
    "check_firmware_differs": (
        "The firmware is {version}, and the driver works with {ranges}.",
        "固件版本为 {version}，而驱动适配 {ranges}。",
    ),
    "remedy_firmware": (
        "Install driver and firmware of the same Ascend HDK, and reboot.",
        "请安装同一 Ascend HDK 的驱动和固件，并重启。",
    ),
    "check_driver_cann_files": (
        "Driver {driver} and CANN {cann} name each other as compatible in their own files.",
        "驱动 {driver} 与 CANN {cann} 在各自文件中声明相互兼容。",
    ),
    "check_driver_cann_files_differ": (
        "Neither driver {driver} nor CANN {cann} names the other as compatible in its own files.",
        "驱动 {driver} 与 CANN {cann} 均未在各自文件中声明与对方兼容。",
    ),
    "check_engine_sees": (
        "{engine}: torch {torch}, torch_npu {torch_npu}, vllm {vllm}; it sees all {count} devices.",
        "{engine}：torch {torch}，torch_npu {torch_npu}，vllm {vllm}；可见全部 {count} 个设备。",
    ),
    "check_engine_sees_other": (
        "{engine}: torch {torch}, torch_npu {torch_npu}, vllm {vllm}; it sees {count} devices of {devices}.",
        "{engine}：torch {torch}，torch_npu {torch_npu}，vllm {vllm}；共 {devices} 个设备，可见 {count} 个。",
    ),
    "remedy_engine_sees": (
        "Look for another process or container that holds devices (npu-smi info), and at *_VISIBLE_DEVICES.",
        "请检查占用设备的其他进程或容器（npu-smi info），以及 *_VISIBLE_DEVICES。",
    ),
    "check_engine_broken": (
        "{engine}: torch cannot be used in its environment: {why}.",
        "{engine}：其环境中无法使用 torch：{why}。",
    ),
    "remedy_engine_broken": (
        "Source CANN's set_env.sh (and nnal/atb's), or install {engine} again.",
        "请 source CANN 及 nnal/atb 的 set_env.sh，或重新安装 {engine}。",
    ),
    "check_links": (
        "{count} network interfaces of NPUs have an address and no link is down ({where}).",
        "{count} 个 NPU 网口均有地址且链路正常（{where}）。",
    ),
    "check_links_down": ("The links of NPUs {those} are down ({where}).", "NPU {those} 的链路未连通（{where}）。"),
    "check_links_without_ip": (
        "NPUs {those} have no address of their own ({where}).",
        "NPU {those} 没有地址（{where}）。",
    ),
    "check_links_same_ip": (
        "Several NPUs have the address {those} ({where}).",
        "多个 NPU 使用同一地址 {those}（{where}）。",
    ),
    "remedy_links": (
        "Only replicas over several machines need it: set addresses with hccn_tool, and look at cables and switch.",
        "仅跨机副本需要：请用 hccn_tool 设置地址，并检查线缆和交换机。",
    ),
    "check_threads": ("{count} processes and threads may run.", "最多可运行 {count} 个进程和线程。"),
    "remedy_threads": (
        "Allow {least} or more (ulimit -u; TasksMax= in systemd; --pids-limit -1 for a container): engines fail with "
        "pthread_create otherwise.",
        "请允许 {least} 个以上（ulimit -u；systemd 中为 TasksMax=；容器为 --pids-limit -1）："
        "否则引擎会报 pthread_create 失败。",
    ),
    "check_shm": ("Shared memory (/dev/shm) is {total_bytes}.", "共享内存（/dev/shm）大小为 {total_bytes}。"),
    "remedy_shm": (
        "Give it {least_bytes} or more (--shm-size for a container): the ranks of an engine talk through it.",
        "请设为 {least_bytes} 以上（容器为 --shm-size）：引擎各进程通过它通信。",
    ),
    "check_reached": ("{url} answers.", "{url} 可以访问。"),
    "check_not_reached": ("{url} does not answer: {why}.", "{url} 无法访问：{why}。"),
    "remedy_server_reached": (
        "Look at the address, at firewalls and proxies between here and the server, and whether it runs.",
        "请检查地址、与服务器之间的防火墙和代理，以及服务器是否在运行。",
    ),
    "remedy_hub_reached": (
        "Set a mirror (HF_ENDPOINT, MODELSCOPE_ENDPOINT) or a proxy; without any, use paths, and HF_HUB_OFFLINE=1.",
        "请设置镜像（HF_ENDPOINT、MODELSCOPE_ENDPOINT）或代理；完全离线时请使用本地路径并设置 HF_HUB_OFFLINE=1。",
    ),
    "check_skew": ("This clock and the server's differ by {seconds} s.", "本机时钟与服务器相差 {seconds} 秒。"),
    "remedy_skew": (
        "Set both by NTP: certificates, sessions and keys expire by them.",
        "请用 NTP 校准：证书、会话和密钥按时钟过期。",
    ),
    "check_prechecker": ("`{command}` found nothing wrong.", "`{command}` 未发现问题。"),
    "check_prechecker_bad": ("`{command}` says: {words}.", "`{command}` 的输出：{words}。"),
    "note_no_prechecker": (
        "msprechecker is not installed; where it is, `msprechecker precheck` is run and its words are shown here.",
        "未安装 msprechecker；安装后将运行 `msprechecker precheck` 并在此显示结果。",
    ),
    "help_doctor_server": ("Also ask this server for an answer.", "同时检查能否访问该服务器。"),
    "help_plan": (
        "Say which engine versions would run with another driver, cann or nvidia_driver; may be repeated.",
        "说明更换 driver、cann 或 nvidia_driver 后哪些引擎版本可以运行；可重复。",
    ),
    "bad_plan": (
        "{given} is no change that can be planned: write NAME=VERSION with one of {names}.",
        "无法规划 {given}：请写作 NAME=VERSION，NAME 为 {names} 之一。",
    ),
    "plan_without_devices": (
        "There is no Ascend or NVIDIA device here to plan for: name some with --simulate.",
        "本机没有可规划的昇腾或 NVIDIA 设备：可用 --simulate 指定。",
    ),
    "verdict_ok": ("runs", "可运行"),
    "verdict_wrong": ("does not run", "不可运行"),
    "verdict_unknown": ("not documented", "无记录"),
    "column_now": ("NOW", "当前"),
    "column_then": ("THEN", "之后"),
    "column_why": ("WHY", "原因"),
}
