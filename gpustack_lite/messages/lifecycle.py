"""Sentences of what happened: one for each kind of event, used where an event has none of its own."""

SENTENCES: dict[str, tuple[str, str]] = {
    "event_move": (
        "Replica {instance} of {model} went from {from_state} to {to_state}.",
        "{model} 的副本 {instance} 从 {from_state} 变为 {to_state}。",
    ),
    "event_instance_created": ("Replica {instance} of {model} was created.", "已创建 {model} 的副本 {instance}。"),
    "event_instance_gone": (
        "Replica {instance} of {model} is gone: nothing of it lives any more.",
        "{model} 的副本 {instance} 已结束，不再有任何进程。",
    ),
    "event_model_created": ("Model {model} was created.", "已创建模型 {model}。"),
    "event_model_changed": ("Model {model} was changed: {fields}.", "已修改模型 {model}：{fields}。"),
    "event_model_started": ("Model {model} was started.", "已启动模型 {model}。"),
    "event_model_stopped": ("Model {model} was stopped.", "已停止模型 {model}。"),
    "event_model_slept": (
        "Model {model} was idle for {seconds} seconds and sleeps.",
        "模型 {model} 已空闲 {seconds} 秒，进入休眠。",
    ),
    "event_model_woken": ("Model {model} was woken.", "模型 {model} 已被唤醒。"),
    "event_model_scaled": ("Model {model} has {replicas} replicas now.", "模型 {model} 现有 {replicas} 个副本。"),
    "scaled_up": (
        "{in_flight} in flight + {queued} queued on {before} replicas for {seconds} s: {replicas} replicas.",
        "{before} 个副本上有 {in_flight} 个进行中 + {queued} 个排队的请求，持续 {seconds} 秒：改为 {replicas} 个副本。",
    ),
    "scaled_down": (
        "{replicas} replicas would have done for {seconds} s (now {in_flight} in flight + {queued} queued "
        "on {before}): {replicas} replicas.",
        "{seconds} 秒以来 {replicas} 个副本已足够（目前 {before} 个副本上有 {in_flight} 个进行中 + "
        "{queued} 个排队的请求）：改为 {replicas} 个副本。",
    ),
    "scaled_asleep": (
        "It sleeps and will wake with {replicas} replicas instead of {before}.",
        "模型处于休眠状态，唤醒后将有 {replicas} 个副本（原为 {before} 个）。",
    ),
    "event_rebalance_begun": (
        "{count} replicas move to make room for {model}.",
        "正在迁移 {count} 个副本，为 {model} 腾出空间。",
    ),
    "event_rebalance_ended": ("The moves for {model} are over.", "为 {model} 进行的迁移已结束。"),
    "event_instance_moves": (
        "Replica {id} of {name} moves from {source} to {target}.",
        "{name} 的副本 {id} 从 {source} 迁移到 {target}。",
    ),
    "event_model_deleted": ("Model {model} was deleted.", "已删除模型 {model}。"),
    "event_route_created": ("Route {name} was created and leads to {models}.", "已创建路由 {name}，指向 {models}。"),
    "event_route_changed": ("Route {name} was changed and leads to {models}.", "已修改路由 {name}，指向 {models}。"),
    "event_route_deleted": ("Route {name} was deleted.", "已删除路由 {name}。"),
    "event_worker_drained": (
        "Worker {worker} was drained: nothing new is placed there.",
        "工作节点 {worker} 已停止接收：不再放置新的实例。",
    ),
    "event_worker_resumed": ("Worker {worker} takes instances again.", "工作节点 {worker} 已恢复接收实例。"),
    "event_worker_joined": ("Worker {worker} joined.", "工作节点 {worker} 已加入。"),
    "event_worker_ready": ("Worker {worker} is ready.", "工作节点 {worker} 已就绪。"),
    "event_worker_returned": ("Worker {worker} is back.", "工作节点 {worker} 已恢复。"),
    "event_worker_silent": ("Worker {worker} fell silent.", "工作节点 {worker} 失去联系。"),
    "event_worker_deleted": ("Worker {worker} was deleted.", "已删除工作节点 {worker}。"),
    "event_key_created": ("API key {name} was created.", "已创建 API 密钥 {name}。"),
    "event_key_changed": ("API key {name} was changed.", "已修改 API 密钥 {name}。"),
    "event_key_deleted": ("API key {name} was deleted.", "已删除 API 密钥 {name}。"),
    "event_user_created": ("User {user} was created.", "已创建用户 {user}。"),
    "event_user_changed": ("The limits of user {user} were changed.", "已修改用户 {user} 的限制。"),
    "event_password_changed": ("User {user} has a new password.", "用户 {user} 已修改密码。"),
    "event_password_reset": ("The password of user {user} was reset.", "已重置用户 {user} 的密码。"),
    "event_backend_created": ("Backend {name} was created.", "已创建推理引擎 {name}。"),
    "event_backend_deleted": ("Backend {name} was deleted.", "已删除推理引擎 {name}。"),
}
