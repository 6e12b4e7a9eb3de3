"""Sentences about MindIE: what its config.json may not say, and what it says when it fails."""

SENTENCES: dict[str, tuple[str, str]] = {
    "mindie_option_twice": (
        "The options {option} and {other} are the same setting: leave one of them out.",
        "选项 {option} 与 {other} 是同一设置：请去掉其中一个。",
    ),
    "mindie_config_refused": (
        "MindIE would refuse {option} = {value}; what it takes here: {expected}. Change the option {option}, or the "
        "key in the installed config.json.",
        "MindIE 会拒绝 {option} = {value}；此处可用：{expected}。请修改选项 {option}，或已安装 config.json 中的该键。",
    ),
    "mindie_config_unreadable": (
        "The config.json of the installed MindIE is no JSON object of at most 10 MiB: repair it, or reinstall MindIE.",
        "已安装的 MindIE 的 config.json 不是 10 MiB 以内的 JSON 对象：请修复该文件或重新安装 MindIE。",
    ),
    "mindie_bfloat16_asked": (
        "The 310P does not compute in bfloat16: set dtype to float16 or auto.",
        "310P 不支持 bfloat16：请将 dtype 设为 float16 或 auto。",
    ),
    "rank_table_invalid": (
        "A rank table cannot have {key} = {value}; what is expected: {expected}.",
        "rank table 中 {key} 不能为 {value}；应为：{expected}。",
    ),
    "mindie_bfloat16": (
        "The device does not compute in bfloat16: set the option dtype to float16. MindIE said: {last_line}",
        "设备不支持 bfloat16：请将选项 dtype 设为 float16。MindIE 输出：{last_line}",
    ),
    "mindie_key_missing": (
        "MindIE misses the key {key} in its config.json: this version wants it, so set it as an option by its whole "
        "path, such as BackendConfig.ScheduleConfig.{key}. It said: {last_line}",
        "MindIE 的 config.json 缺少键 {key}：此版本需要它，请以完整路径作为选项设置，例如 "
        "BackendConfig.ScheduleConfig.{key}。MindIE 输出：{last_line}",
    ),
    "mindie_key_wrong": (
        "MindIE refused the value of {key}, which must be {expected}: correct the option of that name. It said: "
        "{last_line}",
        "MindIE 拒绝了 {key} 的值，应为 {expected}：请更正同名选项。MindIE 输出：{last_line}",
    ),
    "mindie_key_above": (
        "MindIE wants {key} to be no greater than {expected}: correct the options of these names. It said: {last_line}",
        "MindIE 要求 {key} 不大于 {expected}：请更正相应选项。MindIE 输出：{last_line}",
    ),
    "mindie_key_outside": (
        "MindIE refused the value of {key}: correct the option of that name. It said: {last_line}",
        "MindIE 拒绝了 {key} 的值：请更正同名选项。MindIE 输出：{last_line}",
    ),
    "mindie_device_ids": (
        "MindIE does not find the NPUs that it was given: see with npu-smi info -m whether their logic ids are still "
        "the same. It said: {last_line}",
        "MindIE 找不到分配给它的 NPU：请用 npu-smi info -m 确认其逻辑编号是否变化。MindIE 输出：{last_line}",
    ),
    "mindie_rank_table": (
        "MindIE cannot use the rank table: check the addresses of the workers and of their cards (hccn_tool -i 0 -ip "
        "-g). It said: {last_line}",
        "MindIE 无法使用 rank table：请检查各工作节点及其网卡的地址（hccn_tool -i 0 -ip -g）。MindIE 输出：{last_line}",
    ),
    "mindie_tls": (
        "MindIE looked for certificates, though it is told to use none: remove the TLS keys from its installed "
        "config.json. It said: {last_line}",
        "MindIE 在查找证书，而配置并未启用 TLS：请从已安装的 config.json 中移除 TLS 相关键。MindIE 输出：{last_line}",
    ),
    "mindie_shared_memory": (
        "MindIE found too little room in /dev/shm: give the container more (--shm-size), or lower "
        "tokenizerProcessNumber or maxRequestLength, whose product in MiB is what it takes. It said: {last_line}",
        "共享内存（/dev/shm）空间不足：请为容器增大 --shm-size，或降低 tokenizerProcessNumber、maxRequestLength"
        "（两者乘积即所需 MiB）。MindIE 输出：{last_line}",
    ),
    "mindie_tokenizer": (
        "MindIE's tokenizers did not start: check that the model's directory has its tokenizer files, and that the "
        "model needs no code of its own. It said: {last_line}",
        "MindIE 的分词进程未能启动：请确认模型目录含有分词器文件，且模型不依赖自带代码。MindIE 输出：{last_line}",
    ),
    "mindie_blocks": (
        "The cache has no room for one request: lower maxSeqLen, or raise npuMemSize. MindIE said: {last_line}",
        "缓存容纳不下一个请求：请降低 maxSeqLen 或增大 npuMemSize。MindIE 输出：{last_line}",
    ),
    "mindie_out_of_memory": (
        "MindIE ran out of NPU memory: lower maxSeqLen, maxPrefillTokens or npu-memory-fraction, or use more cards. It "
        "said: {last_line}",
        "NPU 显存不足：请降低 maxSeqLen、maxPrefillTokens 或 npu-memory-fraction，或使用更多卡。输出：{last_line}",
    ),
    "mindie_versions_differ": (
        "MindIE's parts do not belong together: install the CANN, nnal/atb, torch_npu and MindIE of one release, with "
        "the same ABI. It said: {last_line}",
        "MindIE 各组件不配套：请安装同一发行版的 CANN、nnal/atb、torch_npu 与 MindIE，并保持 ABI 一致。"
        "MindIE 输出：{last_line}",
    ),
    "mindie_python": (
        "A Python package that the model needs is missing or of another version: install the requirements of "
        "atb-models for it. MindIE said: {last_line}",
        "缺少模型所需的 Python 包或版本不符：请安装 atb-models 中该模型的 requirements。MindIE 输出：{last_line}",
    ),
    "mindie_permission": (
        "MindIE does not read files that others may: chmod 640 the model's config.json and 750 its directory, owned by "
        "the user of the worker. It said: {last_line}",
        "MindIE 拒绝读取其他用户可访问的文件：请将模型的 config.json 设为 640、目录设为 750，属主为工作节点的运行用户。"
        "MindIE 输出：{last_line}",
    ),
    "mindie_said": (
        "MindIE failed with {code}: look the code up in its documentation. It said: {last_line}",
        "MindIE 以 {code} 失败：请在其文档中查阅该错误码。MindIE 输出：{last_line}",
    ),
}
