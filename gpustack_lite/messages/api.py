"""Sentences of the management API."""

SENTENCES: dict[str, tuple[str, str]] = {
    "env_value_hidden": (
        "The value of {name} in env is hidden (***), as in a specification that was read from here: give the value.",
        "env 中 {name} 的值已隐藏（***），这是从平台读出的配置：请填写真实的值。",
    ),
    # requests
    "no_such_path": ("There is nothing at {path}: check the address.", "{path} 不存在：请检查地址。"),
    "http_error": (
        "The request could not be served (status {http_status}).",
        "无法处理该请求（状态码 {http_status}）。",
    ),
    "host_not_ours": (
        "This server does not answer to the host name {host}: use its IP address, or start it with --allowed-host.",
        "本服务器不接受主机名 {host}：请使用 IP 地址访问，或在启动时加上 --allowed-host。",
    ),
    "server_busy": (
        "Too many requests are waiting here already: try again in {seconds} s.",
        "等待处理的请求过多：请在 {seconds} 秒后重试。",
    ),
    "body_too_large": (
        "The body is larger than {limit_bytes}: send less at once.",
        "请求体超过 {limit_bytes}：请减少一次发送的内容。",
    ),
    "body_missing": ("The request has no body: send a JSON object.", "请求没有请求体：请发送一个 JSON 对象。"),
    "body_not_sent_as_json": (
        "The body was not sent as JSON: set the header Content-Type: application/json.",
        "请求体未以 JSON 发送：请设置请求头 Content-Type: application/json。",
    ),
    "body_not_an_object": ("The body is not a JSON object: send {{...}}.", "请求体不是 JSON 对象：请发送 {{...}}。"),
    "json_malformed": (
        "The body is not valid JSON at line {line}, column {column}: {why}.",
        "请求体不是有效的 JSON（第 {line} 行第 {column} 列）：{why}。",
    ),
    "body_unreadable": (
        "The body could not be read: it is nested too deeply or was cut off.",
        "无法读取请求体：嵌套过深或内容被截断。",
    ),
    "database_failed": (
        "The database did not take the request ({why}): nothing was changed; free its disk or start it, and try again.",
        "数据库未能处理该请求（{why}）：未作任何更改；请检查其磁盘空间与运行状态后重试。",
    ),
    # fields
    "field_missing": ("The field {name} is missing.", "缺少字段 {name}。"),
    "field_unknown": (
        "There is no field {name} here: remove it or correct its spelling.",
        "此处没有字段 {name}：请删除或更正拼写。",
    ),
    "field_not_integer": ("{name} must be a whole number.", "{name} 必须是整数。"),
    "field_not_number": ("{name} must be a number.", "{name} 必须是数字。"),
    "field_not_text": ("{name} must be a text.", "{name} 必须是字符串。"),
    "field_not_boolean": ("{name} must be true or false.", "{name} 必须是 true 或 false。"),
    "field_not_object": ("{name} must be an object.", "{name} 必须是对象。"),
    "field_not_list": ("{name} must be a list.", "{name} 必须是列表。"),
    "field_not_time": (
        "{name} must be a time with a zone, such as 2026-01-31T12:00:00Z.",
        "{name} 必须是带时区的时间，例如 2026-01-31T12:00:00Z。",
    ),
    "field_out_of_bounds": ("{name} must be {bound} {limit}.", "{name} 必须 {bound} {limit}。"),
    "field_length": ("The length of {name} must be {bound} {limit}.", "{name} 的长度必须 {bound} {limit}。"),
    "field_not_one_of": ("{name} must be one of {expected}.", "{name} 必须是以下之一：{expected}。"),
    "field_invalid": ("{name} is not valid: {why}.", "{name} 无效：{why}。"),
    "value_too_deep": ("{name} is nested more than {deepest} levels deep.", "{name} 的嵌套超过 {deepest} 层。"),
    "value_not_finite": ("{name} holds a number that is not finite.", "{name} 含有非有限的数字。"),
    "value_too_large": ("{name} holds a number that needs more than 64 bits.", "{name} 含有超过 64 位的整数。"),
    "text_not_whole": (
        "{name} holds a character that cannot be stored (NUL or half a surrogate pair).",
        "{name} 含有无法存储的字符（NUL 或不完整的代理对）。",
    ),
    "bad_cursor": (
        "The cursor does not belong to this list: begin again without it.",
        "游标不属于此列表：请去掉游标重新开始。",
    ),
    "unknown_sort": (
        "The list cannot be sorted by {sort}: use one of {names}.",
        "列表不能按 {sort} 排序：可用 {names}。",
    ),
    "compare_broken": (
        "The answer ended before it was whole: the gateway went away. Send it again.",
        "应答尚未完整便已中断：网关已离开。请重新发送。",
    ),
    "unknown_dimension": ("Usage cannot be summed by {name}: use {names}.", "用量不能按 {name} 汇总：可用 {names}。"),
    # credentials
    "credential_missing": (
        "Sign in first: send a key or a session token as Authorization: Bearer.",
        "请先登录：通过 Authorization: Bearer 发送密钥或会话令牌。",
    ),
    "credential_refused": (
        "The key or session is not valid: it is wrong, has expired or was revoked.",
        "密钥或会话无效：可能有误、已过期或已被吊销。",
    ),
    "scope_missing": ("This key lacks the scope {scope}.", "该密钥没有 {scope} 权限。"),
    "admin_only": ("Only an administrator may do this.", "只有管理员可以执行此操作。"),
    "not_a_session": (
        "Only a session can be signed out; delete a key instead.",
        "只有会话可以注销；密钥请直接删除。",
    ),
    "login_refused": (
        "The user name or the password is wrong.",
        "用户名或密码错误。",
    ),
    "login_throttled": (
        "Too many attempts to sign in: try again in {seconds} s.",
        "登录尝试过多：请在 {seconds} 秒后重试。",
    ),
    "login_busy": (
        "Too many people sign in at this moment: try again in {seconds} s.",
        "当前登录请求过多：请在 {seconds} 秒后重试。",
    ),
    "password_length": (
        "The new password must have {shortest} to {longest} characters.",
        "新密码长度必须为 {shortest} 到 {longest} 个字符。",
    ),
    "password_unchanged": ("The new password is the old one: choose another.", "新密码与旧密码相同：请另选一个。"),
    "key_is_limited": (
        "This key is limited to some models or to a time, and what you ask for would have no such limit: "
        "sign in, or use a key without limits.",
        "该密钥限定了模型或有效期，而此操作的结果不受这些限制：请登录，或使用不受限的密钥。",
    ),
    "key_exceeds_maker": (
        "A key cannot be allowed more than whoever makes it: {what}.",
        "密钥的权限不能超过其创建者：{what}。",
    ),
    "weight_admin_only": (
        "Only an administrator may raise the weight of a key: its share of the queue is taken from others.",
        "只有管理员可以提高密钥的权重：它会占用其他人的排队份额。",
    ),
    "key_ambiguous": (
        "Several keys are named {name}: use the id of one of them ({ids}).",
        "有多个密钥名为 {name}：请使用其中一个的编号（{ids}）。",
    ),
    "expiry_passed": ("expires_at lies in the past: choose a later time.", "expires_at 已经过去：请选择更晚的时间。"),
    "worker_unknown": (
        "This worker's credential is not known: it must join again.",
        "无法识别该节点的凭据：需要重新加入。",
    ),
    "gateway_unknown": ("This gateway's token is not known.", "无法识别该网关的令牌。"),
    "join_token_refused": (
        "The join token is wrong or has expired: make a new one with `gpustack-lite workers token`.",
        "加入令牌有误或已过期：请用 `gpustack-lite workers token` 重新生成。",
    ),
    # models
    "model_name_taken": (
        "There is already a model named {name}: choose another name or change that model.",
        "已存在名为 {name} 的模型：请换一个名称或修改该模型。",
    ),
    # routes of models
    "route_name_taken": (
        "There is already a route named {name}: choose another name or change that route.",
        "已存在名为 {name} 的路由：请换一个名称或修改该路由。",
    ),
    "model_has_routes": (
        "The model {name} is what these routes lead to: {routes}. Change or delete them first.",
        "以下路由指向模型 {name}：{routes}。请先修改或删除它们。",
    ),
    "route_names_twice": (
        "The route names the model {model} twice: name it once, with the weight that it is to have.",
        "该路由重复列出了模型 {model}：请只列一次，并给出所需的权重。",
    ),
    "route_without_weight": (
        "No target of the route {name} has a weight above 0, so nothing would be served: give one of them a weight.",
        "路由 {name} 的所有目标权重都为 0，不会提供任何服务：请至少给一个目标设置权重。",
    ),
    "route_leads_to_route": (
        "{route} is a route itself, and routes lead to models only: name the models that it leads to.",
        "{route} 本身是一个路由，而路由只能指向模型：请直接列出它所指向的模型。",
    ),
    "route_target_missing": (
        "The route {name} names the model {model}, which does not exist: it is passed over until it is deployed.",
        "路由 {name} 指向的模型 {model} 不存在：在部署之前会被跳过。",
    ),
    "replicas_unreadable": (
        "{given} is no number of replicas: write a number, auto(1,4), or an object with min and max.",
        "{given} 不是有效的副本数：请写数字、auto(1,4)，或含 min 与 max 的对象。",
    ),
    "autoscale_from_zero": (
        "A model that follows its load has at least one replica: to let it have none while nobody uses it, "
        "set serving.sleep_after_seconds as well.",
        "随负载伸缩的模型至少有 1 个副本：若要在无人使用时降为 0，请同时设置 serving.sleep_after_seconds。",
    ),
    "autoscale_bounds": (
        "The least number of replicas ({min}) is more than the most ({max}): swap them.",
        "副本数下限（{min}）大于上限（{max}）：请对调。",
    ),
    "name_length": (
        "A name must have 1 to {longest} characters, not {length}.",
        "名称长度应为 1 到 {longest} 个字符，而不是 {length}。",
    ),
    "name_unprintable": (
        "The name {name} holds control or invisible characters: remove them.",
        "名称 {name} 含有控制字符或不可见字符：请删除。",
    ),
    "name_outer_space": (
        "The name {name} begins or ends with a space: remove it.",
        "名称 {name} 的首尾有空格：请删除。",
    ),
    "name_character": (
        "The name {name} holds {character}, which has a meaning in addresses: leave it out.",
        "名称 {name} 含有在地址中有特殊含义的字符 {character}：请去掉。",
    ),
    "name_only_digits": (
        "The name {name} looks like an id: add a letter.",
        "名称 {name} 看起来像编号：请加上字母。",
    ),
    "name_segments": (
        "The name {name} has an empty part or a dot part between slashes: write it like org/model.",
        "名称 {name} 的斜杠之间有空段或点段：请写成 org/model 的形式。",
    ),
    "name_reserved": (
        "A name with slashes must not end in {word}, which is an address of its own: rename {name}.",
        "带斜杠的名称不能以 {word} 结尾，它是保留地址：请更改 {name}。",
    ),
    "name_is_fixed": (
        "The name of {name} cannot be changed: deploy it under the new name and delete this one.",
        "{name} 的名称不能更改：请用新名称部署后删除它。",
    ),
    "timezone_unknown": (
        "{name} is not a time zone: write an IANA name such as UTC, Europe/Berlin or Asia/Shanghai.",
        "{name} 不是有效时区：请填写 IANA 名称，例如 UTC、Europe/Berlin 或 Asia/Shanghai。",
    ),
    "env_name": (
        "{name} is no name of an environment variable: use letters, digits and underscores.",
        "{name} 不是有效的环境变量名：请使用字母、数字和下划线。",
    ),
    "env_reserved": (
        "The environment variable {name} is the platform's own: remove it.",
        "环境变量 {name} 由平台使用：请删除。",
    ),
    "env_value": (
        "The value of the environment variable {name} holds a NUL character: remove it.",
        "环境变量 {name} 的值含有 NUL 字符：请删除。",
    ),
    "device_address": (
        "{device} is no device: write WORKER:INDEX, such as w1:0.",
        "{device} 不是设备地址：请写成 节点:序号，例如 w1:0。",
    ),
    "unknown_backend": (
        "There is no backend named {name}: use one of {names}.",
        "没有名为 {name} 的后端：可用 {names}。",
    ),
    "backend_needed": (
        "The source {source} names no files, so the backend must be named too.",
        "来源 {source} 不包含文件，因此必须同时指定后端。",
    ),
    # backends
    "backend_exists": (
        "There is already a backend named {name}: choose another name.",
        "已存在名为 {name} 的后端：请换一个名称。",
    ),
    "backend_builtin": ("The backend {name} comes with the program and stays.", "后端 {name} 是内置的，不能删除。"),
    "backend_in_use": (
        "The model {model} uses the backend {name}: change or delete it first.",
        "模型 {model} 正在使用后端 {name}：请先修改或删除该模型。",
    ),
    # instances and workers
    "instance_not_placed": (
        "Instance {instance_id} was not placed on a worker yet, so it has no log.",
        "实例 {instance_id} 尚未分配到节点，因此没有日志。",
    ),
    "log_unavailable": (
        "The worker {worker} did not send the log within {waited_seconds} s: it is silent or busy, try again.",
        "节点 {worker} 在 {waited_seconds} 秒内没有发送日志：可能离线或繁忙，请重试。",
    ),
    "worker_name_taken": (
        "Another worker is named {name}: join with --name and another name.",
        "已有节点名为 {name}：请用 --name 指定其他名称加入。",
    ),
    "worker_name": (
        "A worker's name must be printable, 1 to {longest} characters, and not only digits.",
        "节点名称必须可打印，长度 1 到 {longest} 个字符，且不能全是数字。",
    ),
    "worker_in_use": (
        "{count} instances hold claims on {worker}: stop them first, or use force if that machine is gone for good.",
        "{worker} 上有 {count} 个实例占用资源：请先停止它们；若该机器已永久离线，可强制删除。",
    ),
    # requests: why one ended as it did
    "status_not_understood": (
        "The status {given} is not understood: write a status such as 429, or a class such as 5xx.",
        "无法理解状态 {given}：请填写 429 这样的状态码，或 5xx 这样的类别。",
    ),
    "request_not_recorded": (
        "There is no record of the request {request}: it may be under way still, be older than records are kept, "
        "have been somebody else's, or have come without a valid key.",
        "没有请求 {request} 的记录：它可能仍在进行、已超过记录保留期限、属于其他人，或未携带有效密钥。",
    ),
    "cause_client_gone": (
        "The client closed its connection after {seconds} s, with {tokens} tokens passed on: raise the client's "
        "timeout if that was not meant.",
        "客户端在 {seconds} 秒后断开连接，此前已转发 {tokens} 个 token：若非有意为之，请调大客户端超时。",
    ),
    "cause_gateway_killed": (
        "The gateway's process was killed while it passed on the answer ({tokens} tokens by then): send the request "
        "again.",
        "网关进程在转发答复时被终止（此前已转发 {tokens} 个 token）：请重新发送请求。",
    ),
    "cause_engine_error": (
        "The engine (instance {instance}) answered with an error, told to the client with status {status}: its text "
        "was in that answer, more is in the instance's log.",
        "引擎（实例 {instance}）返回错误，并以状态 {status} 告知客户端：错误文本在该答复中，更多内容见实例日志。",
    ),
    "cause_first_byte_timeout": (
        "The engine (instance {instance}) did not begin to answer within first_byte_seconds ({seconds} s in all).",
        "引擎（实例 {instance}）未在 first_byte_seconds 内开始答复（共 {seconds} 秒）。",
    ),
    "cause_idle_timeout": (
        "The engine (instance {instance}) stopped in the middle of its answer and said nothing for idle_seconds: look "
        "at the instance's log.",
        "引擎（实例 {instance}）在答复中途停止，超过 idle_seconds 没有输出：请查看实例日志。",
    ),
    "cause_closed_early": (
        "The engine (instance {instance}) closed its connection before the answer was complete, after {tokens} tokens: "
        "its process may have died, look at the instance's log.",
        "引擎（实例 {instance}）在答复完成前关闭了连接，此前有 {tokens} 个 token：其进程可能已退出，请查看实例日志。",
    ),
    "cause_connect_failed": (
        "No connection to a replica of {model} could be made: look at the state of its instances.",
        "无法连接到 {model} 的副本：请查看其实例状态。",
    ),
    "cause_connect_timeout": (
        "No replica of {model} took the connection within connect_seconds: look at the state of its instances.",
        "{model} 的副本未在 connect_seconds 内接受连接：请查看其实例状态。",
    ),
    "cause_not_http": (
        "The engine (instance {instance}) answered with something that is not HTTP: look at the instance's log.",
        "引擎（实例 {instance}）返回了非 HTTP 内容：请查看实例日志。",
    ),
    "cause_answer_too_long": (
        "The engine's answer (instance {instance}) was longer than is read here: look at the instance's log.",
        "引擎（实例 {instance}）的答复超过此处可读取的长度：请查看实例日志。",
    ),
    "cause_key_revoked": (
        "The API key was revoked or disabled while the request ran: {tokens} tokens had been passed on.",
        "请求进行期间 API 密钥被吊销或停用：此前已转发 {tokens} 个 token。",
    ),
    "cause_rate_limit_exceeded": (
        "A limit of the key, its user or the model was reached; no engine was asked: wait as Retry-After said, or have "
        "the limit raised.",
        "已达到密钥、用户或模型的限额，未请求任何引擎：请按 Retry-After 等待，或申请提高限额。",
    ),
    "cause_insufficient_quota": (
        "The token budget of the key, its user or the model is used up; no engine was asked: wait for the next period, "
        "or have the budget raised.",
        "密钥、用户或模型的 token 预算已用完，未请求任何引擎：请等待下一周期，或申请提高预算。",
    ),
    "cause_queue_full": (
        "The line before {model} was full; no engine was asked: send less at once, or add replicas.",
        "{model} 的排队已满，未请求任何引擎：请降低并发，或增加副本。",
    ),
    "cause_queue_timeout": (
        "No replica of {model} was free in time ({seconds} s waited): send less at once, or add replicas.",
        "{model} 未能及时有空闲副本（已等待 {seconds} 秒）：请降低并发，或增加副本。",
    ),
    "cause_model_not_found": (
        "There was no model {model} at that time: GET /v1/models lists those that exist.",
        "当时不存在模型 {model}：GET /v1/models 列出现有模型。",
    ),
    "cause_model_not_ready": (
        "No replica of {model} was ready: its events say why.",
        "{model} 没有就绪的副本：原因见其事件。",
    ),
    "cause_model_not_allowed": (
        "The key may not use the model {model}: ask its owner to allow it.",
        "该密钥无权使用模型 {model}：请让密钥所有者放开权限。",
    ),
    "cause_internal_error": (
        "The gateway itself failed: its log has a traceback under this request's id.",
        "网关自身出错：其日志中有此请求编号对应的回溯信息。",
    ),
    "cause_refused": (
        "The gateway refused the request with status {status} ({cause}) before any engine was asked.",
        "网关在请求任何引擎之前以状态 {status} 拒绝了该请求（{cause}）。",
    ),
    "cause_other": (
        "The request ended with status {status} on instance {instance} ({cause}).",
        "该请求在实例 {instance} 上以状态 {status} 结束（{cause}）。",
    ),
}
