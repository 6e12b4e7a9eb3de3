"""Sentences about faults of devices, what the platform does about them, and cordons."""

SENTENCES: dict[str, tuple[str, str]] = {
    # what a device tells
    "fault_ignore": (
        "It tells {fault} ({level}): work on it is not affected.",
        "设备报告 {fault}（{level}）：不影响其上的工作。",
    ),
    "fault_retry": (
        "It tells {fault} ({level}): single requests may have failed; nothing is restarted.",
        "设备报告 {fault}（{level}）：个别请求可能失败；无需重启。",
    ),
    "fault_restart": (
        "It tells {fault} ({level}): what runs on it is drained and started anew.",
        "设备报告 {fault}（{level}）：其上的实例将排空并重新启动。",
    ),
    "fault_isolate": (
        "It tells {fault} ({level}): nothing runs on it until it was reset or repaired.",
        "设备报告 {fault}（{level}）：复位或修复之前不在其上运行任何实例。",
    ),
    "fault_unlisted": (
        "It tells {fault}, which is in no list of ours, and its health is {health}: nothing is done.",
        "设备报告 {fault}，不在已知列表中，健康状态为 {health}：不作处理。",
    ),
    "fault_unlisted_isolate": (
        "It tells {fault}, which is in no list of ours, and its health is {health}: nothing runs on it "
        "until that ends.",
        "设备报告 {fault}，不在已知列表中，健康状态为 {health}：恢复之前不在其上运行任何实例。",
    ),
    "fault_health": (
        "Its health is {health}, and it tells no code: nothing is done.",
        "健康状态为 {health}，且未报告错误码：不作处理。",
    ),
    "fault_health_isolate": (
        "Its health is {health}, and it tells no code: nothing runs on it until that ends.",
        "健康状态为 {health}，且未报告错误码：恢复之前不在其上运行任何实例。",
    ),
    # what was done
    "device_restarts": (
        "{device} tells {fault}: {instances} replicas on it are drained and started anew.",
        "{device} 报告 {fault}：其上 {instances} 个副本将排空并重新启动。",
    ),
    "device_isolated": (
        "{device} tells {fault} and is isolated: {instances} replicas on it are drained and placed again.",
        "{device} 报告 {fault}，已被隔离：其上 {instances} 个副本将排空并重新放置。",
    ),
    "device_held": (
        "{device} had {times} faults within {minutes} minutes, the last {fault}: it is isolated until somebody "
        "uncordons it or it is quiet for {hours} hours; {instances} replicas on it are drained and placed again.",
        "{device} 在 {minutes} 分钟内出现 {times} 次故障，最近一次为 {fault}：将保持隔离，直到有人解除封锁"
        "或持续正常 {hours} 小时；其上 {instances} 个副本将排空并重新放置。",
    ),
    "device_released": (
        "{device} tells no fault any more and is used again.",
        "{device} 不再报告故障，已恢复使用。",
    ),
    "replica_left_device": (
        "{device} tells {fault}; the replica is drained and started again.",
        "{device} 报告 {fault}；该副本将排空并重新启动。",
    ),
    # cordons
    "event_device_cordoned": (
        "{device} was cordoned by {user} ({note}): what runs on it goes on, nothing new is placed.",
        "{device} 已被 {user} 封锁（{note}）：其上已有实例继续运行，不再放置新的实例。",
    ),
    "device_cordoned": (
        "{device} is cordoned: what runs on it goes on, nothing new is placed.",
        "{device} 已封锁：其上已有实例继续运行，不再放置新的实例。",
    ),
    "device_uncordoned": ("{device} is used again.", "{device} 已恢复使用。"),
    "device_use_yes": ("used", "使用中"),
    "device_use_no": ("not used", "不使用"),
    "device_use_cordoned": ("cordoned", "已封锁"),
    "device_use_isolated": ("isolated", "已隔离"),
    "device_use_held": ("held", "保持隔离"),
    "column_fault": ("FAULT", "故障"),
    "column_in_use": ("IN USE", "使用"),
    "column_cordon_note": ("NOTE", "备注"),
    "event_device_uncordoned": ("{device} was uncordoned by {user}.", "{device} 已被 {user} 解除封锁。"),
    "devices_cordoned": (
        "{device} is cordoned by {by} ({note}); usable devices on {worker}: {usable_count}, needed: {needed_count}.",
        "{device} 已被 {by} 封锁（{note}）；{worker} 上可用设备 {usable_count} 个，需要 {needed_count} 个。",
    ),
    "devices_isolated": (
        "{device} is isolated because of its fault {by}; usable devices on {worker}: {usable_count}, needed: "
        "{needed_count}.",
        "{device} 因故障 {by} 被隔离；{worker} 上可用设备 {usable_count} 个，需要 {needed_count} 个。",
    ),
}
