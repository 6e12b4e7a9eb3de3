"""Sentences of the gateway and its relay."""

SENTENCES: dict[str, tuple[str, str]] = {
    # who may pass
    "missing_api_key": (
        "This address needs an API key: send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`.",
        "此地址需要 API 密钥：请以 `Authorization: Bearer 密钥` 或 `X-API-Key: 密钥` 发送。",
    ),
    "invalid_api_key": (
        "The API key is not known here or was revoked: check that it is complete, or create a new one.",
        "API 密钥无效或已被吊销：请检查密钥是否完整，或新建一个。",
    ),
    "expired_api_key": (
        "The API key expired at {expired_at}: create a new one.",
        "API 密钥已于 {expired_at} 过期：请新建一个。",
    ),
    "key_disabled": (
        "The API key is disabled: enable it again, or use another one.",
        "API 密钥已停用：请重新启用，或换用其他密钥。",
    ),
    "key_revoked": (
        "The API key was revoked, disabled or expired while this request was under way: use another one.",
        "请求处理期间，API 密钥被吊销、停用或已过期：请换用其他密钥。",
    ),
    "csrf_token_missing": (
        "A write with the console's cookie needs the header X-CSRF-Token: reload the console and sign in again.",
        "使用控制台 Cookie 的写操作需要 X-CSRF-Token 请求头：请刷新控制台并重新登录。",
    ),
    "key_lacks_scope": (
        "This API key does not have the scope {scope}: create a key that has it.",
        "此 API 密钥没有 {scope} 权限范围：请创建具备该权限的密钥。",
    ),
    "model_not_allowed": (
        "This API key may not use the model {model}: ask its owner to allow it, or use another key.",
        "此 API 密钥无权使用模型 {model}：请让密钥所有者放开权限，或换用其他密钥。",
    ),
    "routes_missing": (
        "The gateway has not heard from the server since it started: try again in a few seconds.",
        "网关启动后尚未收到服务器的数据：请几秒后重试。",
    ),
    "routes_stale": (
        "The gateway has not heard from the server for {age_hours} hours, longer than keys may be trusted "
        "({limit_hours}): start the server again.",
        "网关已有 {age_hours} 小时未收到服务器的数据，超过密钥可信的期限（{limit_hours} 小时）：请重新启动服务器。",
    ),
    # what was asked
    "path_not_canonical": (
        "The path can be read in more than one way: write it without `..`, `//`, backslashes and encoded slashes.",
        "该路径存在歧义：请去掉 `..`、`//`、反斜杠和编码后的斜杠。",
    ),
    "path_unknown": ("There is nothing at {path}: check the address.", "{path} 不存在：请检查地址。"),
    "method_not_allowed": (
        "{path} does not take {method}: use {allowed}.",
        "{path} 不支持 {method}：请使用 {allowed}。",
    ),
    "request_not_http": (
        "The request is not valid HTTP/1.1: {why}.",
        "请求不是有效的 HTTP/1.1:{why}。",
    ),
    "request_head_too_large": (
        "The request's head is too large: at most {limit_bytes} and {limit_fields} fields are taken.",
        "请求头过大：最多接受 {limit_bytes}、{limit_fields} 个字段。",
    ),
    "request_too_slow": (
        "The request did not arrive within {seconds} seconds: send it again, without pauses.",
        "请求未能在 {seconds} 秒内到达：请不间断地重新发送。",
    ),
    "request_body_too_large": (
        "The request's body is larger than {limit_bytes}: send less, or raise request_body_bytes.",
        "请求体超过 {limit_bytes}：请减小请求，或调大 request_body_bytes。",
    ),
    "gateway_full": (
        "The gateway holds as much as it may at the moment: try again in a few seconds.",
        "网关当前已达容量上限：请几秒后重试。",
    ),
    "body_empty": (
        "The request has no body: send a JSON object with the field model.",
        "请求体为空：请发送包含 model 字段的 JSON 对象。",
    ),
    "body_not_json": ("The request's body is not valid JSON: {why}.", "请求体不是有效的 JSON:{why}。"),
    "body_not_utf8": (
        "The request's body is not valid UTF-8 at byte {position}: encode the JSON as UTF-8.",
        "请求体在第 {position} 字节处不是有效的 UTF-8：请以 UTF-8 编码 JSON。",
    ),
    "body_not_object": (
        "The request's body is not a JSON object: send an object with the field model.",
        "请求体不是 JSON 对象：请发送包含 model 字段的对象。",
    ),
    "media_url_refused": (
        "{address} in {field} would be fetched by the engine, from within this network: send the content itself "
        "(data:image/png;base64,...), or let an administrator name its host in the setting media_hosts.",
        "引擎会从本网络内部抓取 {field} 中的 {address}：请直接发送内容（data:image/png;base64,...），"
        "或请管理员将该主机加入 media_hosts 设置。",
    ),
    "body_repeats_key": (
        "The request's body names {key} more than once: name it once.",
        "请求体中 {key} 出现多次：请只保留一个。",
    ),
    "model_missing": (
        "The request names no model: set the field model to one of GET /v1/models.",
        "请求没有指明模型：请将 model 字段设为 GET /v1/models 中的一个。",
    ),
    "model_not_text": (
        "The field model is not a text: write the model's name.",
        "model 字段不是文本：请填写模型名称。",
    ),
    "stream_not_boolean": (
        "The field stream is neither true nor false: write one of them.",
        "stream 字段既不是 true 也不是 false：请改为其中之一。",
    ),
    "model_not_found": (
        "The model {model} does not exist: GET /v1/models lists those that do.",
        "模型 {model} 不存在：GET /v1/models 列出可用的模型。",
    ),
    "model_not_ready": (
        "The model {model} is not ready (it is {state}): {reason}",
        "模型 {model} 尚未就绪（当前状态 {state}）：{reason}",
    ),
    "model_not_ready_wait": (
        "try again in a few seconds, or look at its instances in the console.",
        "请几秒后重试，或在控制台查看其实例。",
    ),
    "queue_full": (
        "The model {model} is busy and {waiting} requests wait for it already: try again in {seconds} seconds.",
        "模型 {model} 繁忙，已有 {waiting} 个请求在排队：请 {seconds} 秒后重试。",
    ),
    "queue_timeout": (
        "The request waited {waited} seconds for a replica of the model {model}: try again in {seconds} seconds.",
        "请求已排队 {waited} 秒，模型 {model} 仍无空闲副本：请 {seconds} 秒后重试。",
    ),
    "held_full": (
        "The model {model} is being woken and {waiting} requests wait for it already: try again in {seconds} seconds.",
        "模型 {model} 正在唤醒，已有 {waiting} 个请求在等待：请 {seconds} 秒后重试。",
    ),
    "model_sleeps_server_away": (
        "it sleeps, and only the server can wake it, which does not answer at the moment: try again soon.",
        "模型正在休眠，只有服务器能将其唤醒，而服务器暂时没有应答：请稍后重试。",
    ),
    "path_not_served": (
        "The engine behind the model {model} does not serve {path}: {why}",
        "模型 {model} 背后的引擎不提供 {path}：{why}",
    ),
    "cors_not_allowed": (
        "Pages of {origin} may not call this address from a browser: add the origin to the setting cors_origins.",
        "来自 {origin} 的页面不能在浏览器中调用此地址：请将该来源加入 cors_origins 设置。",
    ),
    "paths_served": ("it serves {served}.", "它提供 {served}。"),
    "route_leads_nowhere": (
        "The name {model} leads to models that do not exist ({models}): deploy one of them, or change the route.",
        "名称 {model} 指向的模型均不存在（{models}）：请部署其中之一，或修改该路由。",
    ),
    "anthropic_field_missing": (
        "The field {field} is missing: a message cannot be asked for without it.",
        "缺少字段 {field}：没有它就无法请求消息。",
    ),
    "anthropic_field_wrong": (
        "The field {field} is of the wrong kind: it takes {expected}.",
        "字段 {field} 的类型不正确：应为 {expected}。",
    ),
    "anthropic_not_translated": (
        "The engine behind this model speaks chat completions only, and {field} ({what}) has no counterpart there: "
        "leave it out, or use a model whose engine serves /v1/messages itself.",
        "该模型背后的引擎只支持 chat completions，其中没有与 {field}（{what}）对应的内容：请去掉它，"
        "或使用引擎自身支持 /v1/messages 的模型。",
    ),
    "anthropic_answer_unreadable": (
        "The engine of the model {model} answered with something that is no whole chat completion: "
        "look at the instance's log.",
        "模型 {model} 的引擎返回的内容不是完整的 chat completion：请查看实例日志。",
    ),
    "anthropic_tool_arguments": (
        "The model {model} called a tool with arguments that are no JSON object: ask again, or describe the tool more "
        "closely.",
        "模型 {model} 调用工具时给出的参数不是 JSON 对象：请重试，或更明确地描述该工具。",
    ),
    "tokens_not_countable": (
        "The engine behind the model {model} has no tokenizer that can be asked: tokens are counted only by the "
        "engine itself, in the usage of each answer.",
        "模型 {model} 背后的引擎没有可供查询的分词器：令牌数只能由引擎自身统计，见每次答复的 usage。",
    ),
    # what went wrong behind us
    "engine_unreachable": (
        "No replica of the model {model} could be reached: try again in a few seconds.",
        "无法连接到模型 {model} 的任何副本：请几秒后重试。",
    ),
    "engine_broke": (
        "The engine of the model {model} ended its answer before it was complete ({cause}): send the request again.",
        "模型 {model} 的引擎在答复完成前中断（{cause}）：请重新发送请求。",
    ),
    "engine_not_http": (
        "The engine of the model {model} answered with something that is not HTTP: look at the instance's log.",
        "模型 {model} 的引擎返回了非 HTTP 内容：请查看实例日志。",
    ),
    "engine_timeout": (
        "The engine of the model {model} said nothing for {seconds} seconds: send a smaller request, or try again.",
        "模型 {model} 的引擎在 {seconds} 秒内没有任何输出：请减小请求或重试。",
    ),
    "engine_refused_key": (
        "The engine of the model {model} refused the platform's own key: restart the instance.",
        "模型 {model} 的引擎拒绝了平台密钥：请重启该实例。",
    ),
    "engine_redirects": (
        "The engine of the model {model} answered with HTTP {engine_status} instead of a result: an engine that sends "
        "its callers elsewhere cannot be served from, so check the backend's command and version.",
        "模型 {model} 的引擎返回了 HTTP {engine_status} 而不是结果：会把请求转向别处的引擎无法提供服务，"
        "请检查后端的命令和版本。",
    ),
    "engine_unknown_model": (
        "The engine behind {model} does not know the model by this name: restart the instance.",
        "{model} 背后的引擎不认识该模型名：请重启该实例。",
    ),
    "engine_error": ("The engine answered with an error: {why}", "引擎返回错误：{why}"),
    "server_away": (
        "The server does not answer at the moment ({cause}): models are served on, management is not; try again soon.",
        "服务器暂时没有应答（{cause}）：模型服务不受影响，管理功能暂不可用；请稍后重试。",
    ),
}

_WHOSE = {
    "key": ("The API key {name}", "API 密钥 {name} "),
    "user": ("The user {name}", "用户 {name} "),
    "model": ("The model {name}", "模型 {name} "),
}
_MEASURES = {
    "requests": (
        " has used its {limit} requests per minute: try again in {seconds} seconds.",
        "已用完每分钟 {limit} 次请求的额度：请在 {seconds} 秒后重试。",
    ),
    "tokens": (
        " has too few of its {limit} tokens per minute left for this request: try again in {seconds} seconds.",
        "每分钟 {limit} 个 token 的额度不足以处理此请求：请在 {seconds} 秒后重试。",
    ),
    "concurrency": (
        " has as many requests in flight as it may ({limit}): try again when one has ended ({seconds} seconds).",
        "已有 {limit} 个请求在处理中，达到并发上限：请等其中一个结束后重试（{seconds} 秒）。",
    ),
    "promised": (
        " has {left} left of its budget of {limit} tokens, and requests in flight may take it: "
        "try again in {seconds} seconds.",
        "的 {limit} token 预算剩余 {left}，可能被处理中的请求用完：请在 {seconds} 秒后重试。",
    ),
    "day": (
        " has used its budget of {limit} tokens per day: it begins anew at {until}.",
        "已用完每日 {limit} 个 token 的预算：将于 {until} 重新计算。",
    ),
    "month": (
        " has used its budget of {limit} tokens per month: it begins anew at {until}.",
        "已用完每月 {limit} 个 token 的预算：将于 {until} 重新计算。",
    ),
}
SENTENCES |= {
    f"limit_{owner}_{measure}": (whose[0] + what[0], whose[1] + what[1])
    for owner, whose in _WHOSE.items()
    for measure, what in _MEASURES.items()
}
