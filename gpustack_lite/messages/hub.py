"""Sentences of model sources on hubs: what they are called, where they may be, what a hub answered."""

SENTENCES: dict[str, tuple[str, str]] = {
    # what a source may be called
    "source_repository_invalid": (
        "{source} names no repository: write huggingface:ORG/NAME or modelscope:ORG/NAME, with @REVISION behind it to "
        "pin one.",
        "{source} 不是有效的仓库：请写 huggingface:ORG/NAME 或 modelscope:ORG/NAME，可在其后加 @REVISION 固定版本。",
    ),
    "source_revision_invalid": (
        "{revision} is no revision: give a branch, a tag or a commit.",
        "{revision} 不是有效的版本：请给出分支、标签或提交。",
    ),
    "source_revision_twice": (
        "The source {source} names a revision and source_revision is {revision}: give one of them.",
        "来源 {source} 已包含版本，而 source_revision 为 {revision}：请只给出其中一个。",
    ),
    "source_revision_without_hub": (
        "{source} lies on the workers: a revision or patterns of files (include) belong to a hub's repository.",
        "{source} 位于工作节点上：版本（source_revision）或文件模式（include）只适用于模型仓库。",
    ),
    "source_url_invalid": (
        "The URL at {host} cannot be a source: it has to end in .gguf and must hold no user name and no query, since "
        "everybody who may see the model sees it.",
        "{host} 上的 URL 不能作为来源：它必须以 .gguf 结尾，且不得包含用户名或查询参数，因为能看到模型的人都能看到它。",
    ),
    "source_url_without_files": (
        "This backend opens no files, so {source} would never be fetched: write none: instead.",
        "此推理引擎不打开任何文件，{source} 不会被获取：请改写为 none:。",
    ),
    "include_invalid": (
        "{pattern} is no pattern of files: write paths below the repository with * and ?, such as *Q4_K_M*.gguf.",
        "{pattern} 不是有效的文件模式：请写仓库内的路径，可用 * 和 ?，例如 *Q4_K_M*.gguf。",
    ),
    # where they may be
    "hub_not_allowed": (
        "This worker may not ask {hub}: its setting hubs allows {allowed}.",
        "此节点不允许访问 {hub}：其设置 hubs 只允许 {allowed}。",
    ),
    "url_host_not_allowed": (
        "Files of {host} may not be fetched: the setting url_hosts allows {allowed}. An administrator can add it.",
        "不允许从 {host} 获取文件：设置 url_hosts 只允许 {allowed}。管理员可以添加该主机。",
    ),
    "hub_address_malformed": (
        "{host} is no address of a hub: write http:// or https:// with a host.",
        "{host} 不是有效的模型库地址：请写带主机名的 http:// 或 https:// 地址。",
    ),
    "hub_address_credentials": (
        "The address at {host} holds a user name or a password: give a token by HF_TOKEN or MODELSCOPE_API_TOKEN.",
        "{host} 的地址中含有用户名或密码：请通过 HF_TOKEN 或 MODELSCOPE_API_TOKEN 提供令牌。",
    ),
    "hub_address_plain_http": (
        "{host} would be asked over plain HTTP: only hosts that an administrator named (HF_ENDPOINT, "
        "MODELSCOPE_ENDPOINT, url_hosts) may be.",
        "将以明文 HTTP 访问 {host}：只有管理员指定的主机（HF_ENDPOINT、MODELSCOPE_ENDPOINT、url_hosts）才允许。",
    ),
    "hub_address_private": (
        "{host} leads into a private network: nothing is fetched from there unless an administrator names the host "
        "(HF_ENDPOINT, MODELSCOPE_ENDPOINT, url_hosts).",
        "{host} 指向内部网络：除非管理员指定该主机（HF_ENDPOINT、MODELSCOPE_ENDPOINT、url_hosts），"
        "否则不会从那里获取文件。",
    ),
    "hub_address_unchecked": (
        "{host} is not known to this machine's resolver, so nobody can say where the proxy would go: name the host in "
        "url_hosts, or set proxy_trusted if the proxy itself refuses private addresses.",
        "本机无法解析 {host}，因此无法确认代理会访问哪里：请将该主机加入 url_hosts，"
        "或在代理自身会拒绝内网地址时设置 proxy_trusted。",
    ),
    "hub_redirects": (
        "{host} redirects without end: check the address of the hub.",
        "{host} 无休止地重定向：请检查模型库地址。",
    ),
    # what a hub answered
    "hub_offline": (
        "{host} is not asked: this worker is offline (setting offline or HF_HUB_OFFLINE). What the hub would say "
        "is not known from before: give a path on the worker, or let it ask the hub once.",
        "此节点处于离线模式（设置 offline 或 HF_HUB_OFFLINE），不会访问 {host}，且此前没有相关信息："
        "请给出节点上的路径，或先联网查询一次。",
    ),
    "hub_unreachable": (
        "{host} cannot be reached ({why}): check the network, HF_ENDPOINT or MODELSCOPE_ENDPOINT, and HTTPS_PROXY.",
        "无法连接 {host}（{why}）：请检查网络、HF_ENDPOINT 或 MODELSCOPE_ENDPOINT 以及 HTTPS_PROXY。",
    ),
    "hub_slow": (
        "{host} did not answer within {seconds} seconds: try again, or name a nearer mirror by HF_ENDPOINT.",
        "{host} 在 {seconds} 秒内没有应答：请重试，或通过 HF_ENDPOINT 指定更近的镜像。",
    ),
    "hub_cut_short": (
        "{host} broke its answer off: try again.",
        "{host} 的应答中途中断：请重试。",
    ),
    "hub_no_ranges": (
        "{host} gives {path} as a whole only: what it holds cannot be learned before it is downloaded.",
        "{host} 只能整体提供 {path}：下载之前无法得知其内容。",
    ),
    "hub_answer_odd": (
        "{host} answered something that no hub says: check that HF_ENDPOINT or MODELSCOPE_ENDPOINT is a hub's address.",
        "{host} 的应答不符合模型库的格式：请检查 HF_ENDPOINT 或 MODELSCOPE_ENDPOINT 是否为模型库地址。",
    ),
    "hub_needs_token": (
        "{host} does not show {source} to strangers: run `gpustack-lite secrets set huggingface_token` (or "
        "modelscope_token), or set HF_TOKEN or MODELSCOPE_API_TOKEN on the worker, and check its spelling.",
        "{host} 不向匿名用户显示 {source}：请运行 `gpustack-lite secrets set huggingface_token`"
        "（或 modelscope_token），或在节点上设置 HF_TOKEN 或 MODELSCOPE_API_TOKEN，并检查名称拼写。",
    ),
    "hub_gated": (
        "{source} is gated: accept its terms on {host}, then set HF_TOKEN of that account on the worker.",
        "{source} 需要授权：请在 {host} 上接受其条款，然后在节点上设置该账户的 HF_TOKEN。",
    ),
    "hub_repository_missing": (
        "{host} has no repository {source}: check its spelling.",
        "{host} 没有仓库 {source}：请检查拼写。",
    ),
    "hub_revision_missing": (
        "{source} on {host} has no revision {revision}: check the branch, tag or commit.",
        "{host} 上的 {source} 没有版本 {revision}：请检查分支、标签或提交。",
    ),
    "hub_file_missing": (
        "{source} on {host} has no file {path}.",
        "{host} 上的 {source} 没有文件 {path}。",
    ),
    "hub_repository_empty": ("{source} holds no files.", "{source} 没有任何文件。"),
    "hub_too_many_files": (
        "{source} holds more than {most} files: no model does.",
        "{source} 的文件超过 {most} 个：模型不会有这么多文件。",
    ),
    "hub_busy": (
        "{host} takes no more requests for now (429), wait {seconds} seconds; with HF_TOKEN the limits are higher.",
        "{host} 暂时不再接受请求（429），请等待 {seconds} 秒；设置 HF_TOKEN 后限额更高。",
    ),
    "hub_failed": (
        "{host} answered {answer_status} about {source}: try again later.",
        "{host} 对 {source} 的请求应答 {answer_status}：请稍后重试。",
    ),
    "hub_nothing_included": (
        "include ({include}) matches none of the files: {names}.",
        "include（{include}）没有匹配任何文件：{names}。",
    ),
    "hub_no_model_files": (
        "The repository holds no model that we know, only {names}.",
        "仓库中没有可识别的模型，只有 {names}。",
    ),
}
