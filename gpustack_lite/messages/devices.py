"""Sentences about devices and the programs that are asked about them."""

SENTENCES: dict[str, tuple[str, str]] = {
    "tool_driver_unreachable": (
        "`{command}` cannot reach the driver: {words}.",
        "`{command}` 无法访问驱动：{words}。",
    ),
    "tool_driver_slow": (
        "`{command}` got no answer from the driver in time: {words}.",
        "`{command}` 未能及时得到驱动的响应：{words}。",
    ),
    "tool_driver_not_ready": (
        "`{command}` says that the driver is not ready yet: {words}.",
        "`{command}` 表示驱动尚未就绪：{words}。",
    ),
    "tool_driver_upgrading": (
        "`{command}` says that the driver is being upgraded: {words}.",
        "`{command}` 表示驱动正在升级：{words}。",
    ),
    "tool_driver_mismatch": (
        "`{command}` and the loaded driver are of different versions: {words}.",
        "`{command}` 与已加载的驱动版本不一致：{words}。",
    ),
    "tool_device_held": (
        "`{command}` is refused because another container holds a device: {words}.",
        "`{command}` 被拒绝，因为另一个容器占用了设备：{words}。",
    ),
    "tool_not_permitted": (
        "`{command}` is not permitted to look at the devices: {words}.",
        "`{command}` 没有查看设备的权限：{words}。",
    ),
    "tool_not_in_container": (
        "`{command}` cannot be used in this container: {words}.",
        "`{command}` 不能在此容器中使用：{words}。",
    ),
    "tool_no_devices": ("`{command}` finds no device: {words}.", "`{command}` 未发现设备：{words}。"),
    "tool_library_missing": (
        "`{command}` does not start because the library {library} is missing.",
        "`{command}` 无法启动，因为缺少库 {library}。",
    ),
    "tool_hangs": (
        "`{command}` did not answer within {seconds} s and was ended.",
        "`{command}` 在 {seconds} 秒内没有响应，已被结束。",
    ),
    "tool_still_hangs": (
        "`{command}` hangs in the driver and cannot be ended; it is not started a second time.",
        "`{command}` 卡在驱动中无法结束；不会再次启动。",
    ),
    "tool_talks_without_end": (
        "`{command}` printed far more than a list of devices and was ended.",
        "`{command}` 的输出远超设备列表应有的长度，已被结束。",
    ),
    "tool_not_started": ("`{command}` cannot be started: {why}.", "`{command}` 无法启动：{why}。"),
    "tool_no_list": (
        "`{command}` gave no list of devices; it said: {words}.",
        "`{command}` 没有给出设备列表；其输出为：{words}。",
    ),
    "tool_answer_unread": (
        "The answer of `{command}` could not be read.",
        "无法解析 `{command}` 的输出。",
    ),
    "remedy_tool_answer_unread": (
        "This is a fault of the worker's: its log has the details, please report them.",
        "这是工作节点自身的缺陷：其日志中有详细信息，请反馈给我们。",
    ),
    "tool_missing": (
        "There are devices here, but `{command}`, which tells about them, is missing.",
        "此处有设备，但缺少用于查询设备的 `{command}`。",
    ),
    "ascend_driver_incomplete": (
        "`{command}` says that the Ascend driver may not be wholly installed.",
        "`{command}` 表示昇腾驱动可能没有完整安装。",
    ),
    "remedy_ascend_driver": (
        "Load the driver (after an upgrade: restart the machine). Run as root or as a member of the driver's group "
        "(HwHiAiUser). In a container, map /dev/davinci_manager, /dev/devmm_svm and /dev/hisi_hdc as well.",
        "请加载驱动（升级后需重启机器）；以 root 或驱动用户组（HwHiAiUser）的成员运行；"
        "在容器中还需映射 /dev/davinci_manager、/dev/devmm_svm 和 /dev/hisi_hdc。",
    ),
    "remedy_device_held": (
        "Stop the other container that has this davinci node, or give this one other nodes: a chip belongs to one "
        "container unless it is privileged.",
        "请停止占用该 davinci 节点的另一个容器，或为此容器分配其他节点：除特权容器外，一个芯片只属于一个容器。",
    ),
    "remedy_ascend_library": (
        "Mount /usr/local/Ascend/driver/lib64 with its folders common and driver into the container, and run ldconfig "
        "or set LD_LIBRARY_PATH to them.",
        "请将 /usr/local/Ascend/driver/lib64（包括其中的 common 和 driver 目录）挂载到容器中，"
        "并运行 ldconfig 或将其加入 LD_LIBRARY_PATH。",
    ),
    "remedy_tool_library": (
        "Install the package that has {library}, or add its folder to LD_LIBRARY_PATH.",
        "请安装包含 {library} 的软件包，或将其所在目录加入 LD_LIBRARY_PATH。",
    ),
    "remedy_tool_not_permitted": (
        "Run the worker as root or as a member of the driver's group.",
        "请以 root 或驱动用户组成员的身份运行工作节点。",
    ),
    "remedy_tool_not_in_container": (
        "Run the worker on the host, or in a privileged container.",
        "请在主机上或特权容器中运行工作节点。",
    ),
    "remedy_tool_no_devices": (
        "Look whether the machine sees the card (lspci), and whether this container was given its device nodes.",
        "请检查机器是否识别到该卡（lspci），以及此容器是否获得了相应的设备节点。",
    ),
    "remedy_tool_wait": (
        "Wait until the driver is ready; the worker asks again by itself.",
        "请等待驱动就绪；工作节点会自动重新查询。",
    ),
    "remedy_tool_hangs": (
        "Look into the kernel's log (dmesg) for errors of the card; often only a reset of the card or a restart of the "
        "machine helps. What already runs goes on.",
        "请查看内核日志（dmesg）中该卡的错误；通常只有复位该卡或重启机器才能恢复。已在运行的实例不受影响。",
    ),
    "remedy_tool_broken": (
        "Run it by hand as the worker's user and look at what it says.",
        "请以工作节点的用户身份手动运行该命令并查看其输出。",
    ),
    "remedy_driver_mismatch": (
        "Restart the machine, or unload and load the nvidia modules, so that driver and libraries agree again.",
        "请重启机器，或卸载并重新加载 nvidia 内核模块，使驱动与库的版本一致。",
    ),
    "remedy_nvidia_driver_unreachable": (
        "Install or load the NVIDIA driver (`modprobe nvidia`); in a container use the NVIDIA container toolkit.",
        "请安装或加载 NVIDIA 驱动（`modprobe nvidia`）；在容器中请使用 NVIDIA Container Toolkit。",
    ),
    "remedy_tool_missing_ascend": (
        "Install the Ascend driver, or mount /usr/local/bin/npu-smi, /usr/local/dcmi and "
        "/usr/local/Ascend/driver/lib64 into the container.",
        "请安装昇腾驱动，或将 /usr/local/bin/npu-smi、/usr/local/dcmi 和 /usr/local/Ascend/driver/lib64 挂载到容器中。",
    ),
    "remedy_tool_missing_nvidia": (
        "Install the NVIDIA driver's tools; in a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
        "请安装 NVIDIA 驱动工具；在容器中请设置 NVIDIA_DRIVER_CAPABILITIES=compute,utility。",
    ),
    "remedy_ascend_driver_incomplete": (
        "Install the driver package again with --full and look at /etc/ascend_install.info: it must say "
        "Driver_Install_Status=complete.",
        "请使用 --full 重新安装驱动包，并检查 /etc/ascend_install.info：其中应有 Driver_Install_Status=complete。",
    ),
}
