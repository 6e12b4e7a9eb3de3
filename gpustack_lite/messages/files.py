"""Sentences of forms, uploads, files and batches."""

SENTENCES: dict[str, tuple[str, str]] = {
    # forms
    "form_wanted": (
        "{path} takes a form: send the fields and the file as multipart/form-data.",
        "{path} 需要表单：请以 multipart/form-data 发送字段和文件。",
    ),
    "form_not_wanted": (
        "This path takes JSON, not a form: send a JSON object as application/json.",
        "此路径需要 JSON 而不是表单：请以 application/json 发送 JSON 对象。",
    ),
    "form_boundary_bad": (
        "The Content-Type of the form names no valid boundary: let your HTTP library make the form and set the header.",
        "表单的 Content-Type 没有有效的 boundary：请让 HTTP 库生成表单并设置该请求头。",
    ),
    "form_charset_bad": (
        "The texts of the form are not in UTF-8: encode them as UTF-8 and leave charset out.",
        "表单文本不是 UTF-8 编码：请以 UTF-8 编码并去掉 charset。",
    ),
    "form_malformed": (
        "The form is malformed near byte {position}: let your HTTP library make it.",
        "表单在第 {position} 字节附近格式错误：请让 HTTP 库生成表单。",
    ),
    "form_ends_early": (
        "The form ends before its closing boundary: send it whole.",
        "表单在结束 boundary 之前中断：请完整发送。",
    ),
    "form_part_unnamed": (
        'A part of the form has no plain name: give each one `Content-Disposition: form-data; name="..."` once.',
        '表单中有一部分没有明确的名称：请为每一部分写一次 `Content-Disposition: form-data; name="..."`。',
    ),
    "form_part_encoded": (
        "A part of the form has a Content-Transfer-Encoding: send the bytes as they are.",
        "表单中有一部分带有 Content-Transfer-Encoding：请直接发送原始字节。",
    ),
    "form_too_many_parts": (
        "The form has more than {limit} parts: send fewer.",
        "表单超过 {limit} 个部分：请减少数量。",
    ),
    "form_repeats_field": (
        "The form names {name} more than once: name it once.",
        "表单中 {name} 出现多次：请只保留一个。",
    ),
    "form_field_is_file": (
        "The field {name} was sent as a file: send it as a plain field.",
        "字段 {name} 以文件形式发送：请作为普通字段发送。",
    ),
    "form_field_not_file": (
        "The field {name} has to be a file: send it with a filename.",
        "字段 {name} 必须是文件：请带文件名发送。",
    ),
    "form_field_too_long": (
        "The field {name} of the form is longer than {limit_bytes}: shorten it.",
        "表单字段 {name} 超过 {limit_bytes}：请缩短。",
    ),
    "form_field_missing": (
        "The form lacks the field {name}: add it.",
        "表单缺少字段 {name}：请补上。",
    ),
    # uploads
    "upload_too_large": (
        "The upload is larger than {limit_bytes}: send less, or raise upload_bytes.",
        "上传内容超过 {limit_bytes}：请减小文件，或调大 upload_bytes。",
    ),
    "uploads_full": (
        "Too many uploads are under way at the moment: try again in a few seconds.",
        "当前上传过多：请几秒后重试。",
    ),
    "upload_disk_failed": (
        "The upload cannot be kept on the disk ({why}): free space below the data directory, or send less.",
        "无法将上传内容写入磁盘（{why}）：请释放数据目录所在磁盘的空间，或减小文件。",
    ),
    # files
    "files_quota": (
        "Your files take {kept_bytes} already, and all together may take {limit_bytes}: delete some, "
        "or raise user_files_bytes.",
        "您的文件已占用 {kept_bytes}，总共最多 {limit_bytes}：请删除一些文件，或调大 user_files_bytes。",
    ),
    "file_purpose_unknown": (
        "The purpose {purpose} is not known: use one of {purposes}.",
        "未知的用途 {purpose}：请使用 {purposes} 之一。",
    ),
    "file_expiry_bad": (
        "expires_after needs the anchor created_at and from {least} to {most} seconds: write both.",
        "expires_after 需要 anchor 为 created_at，seconds 在 {least} 到 {most} 之间：请同时填写。",
    ),
    "file_in_use": (
        "The file {file} is being read by the batch {batch}: cancel the batch, or wait until it has ended.",
        "文件 {file} 正被批处理 {batch} 使用：请取消该批处理或等待其结束。",
    ),
    # batches
    "batch_file_purpose": (
        "The file {file} was uploaded for {purpose}: upload it with the purpose batch.",
        "文件 {file} 的上传用途是 {purpose}：请以 batch 用途上传。",
    ),
    "batches_too_many": (
        "You have {limit} batches that have not ended: wait for one, or cancel one.",
        "您有 {limit} 个尚未结束的批处理：请等待或取消其中一个。",
    ),
    "batch_ended": (
        "The batch {batch} has ended already ({state}): there is nothing to cancel.",
        "批处理 {batch} 已结束（{state}）：无可取消。",
    ),
    "batch_maker_gone": (
        "The API key or user that made the batch was revoked, disabled or has expired: make the batch again with "
        "another key.",
        "创建该批处理的 API 密钥或用户已被吊销、停用或过期：请用其他密钥重新创建批处理。",
    ),
    "batch_file_gone": (
        "The batch's input file cannot be read ({why}): upload it again and make a new batch.",
        "无法读取批处理的输入文件（{why}）：请重新上传并新建批处理。",
    ),
    "batch_expired": (
        "This request was not executed before the completion window ended: send it again in a new batch.",
        "该请求在完成时限前未能执行：请在新的批处理中重新发送。",
    ),
    "batch_answer_too_long": (
        "The answer is longer than a batch keeps: ask for less, or send this request by itself.",
        "答复超过批处理可保存的长度：请减少请求内容，或单独发送该请求。",
    ),
    "empty_file": (
        "The input file holds no requests: write one JSON object per line.",
        "输入文件中没有请求：请每行写一个 JSON 对象。",
    ),
    "too_many_requests": (
        "The input file holds more than {limit} requests: split it.",
        "输入文件的请求数超过 {limit}：请拆分。",
    ),
    "invalid_json_line": (
        "This line is not a JSON object with custom_id, method, url and body: correct it.",
        "此行不是包含 custom_id、method、url 和 body 的 JSON 对象：请更正。",
    ),
    "line_too_long": (
        "This line is longer than {limit_bytes}: shorten it.",
        "此行超过 {limit_bytes}：请缩短。",
    ),
    "invalid_custom_id": (
        "custom_id must be a text of 1 to {limit} characters: correct it.",
        "custom_id 必须是 1 到 {limit} 个字符的文本：请更正。",
    ),
    "duplicate_custom_id": (
        "The custom_id {custom_id} is used by an earlier line: give each line its own.",
        "custom_id {custom_id} 已被前面的行使用：请为每行使用不同的值。",
    ),
    "invalid_method": ("The method must be POST: correct it.", "method 必须是 POST：请更正。"),
    "invalid_url": (
        "The url must be the batch's endpoint {endpoint}: correct it.",
        "url 必须是批处理的 endpoint {endpoint}：请更正。",
    ),
    "stream_not_supported": (
        "A batch cannot stream: leave stream out.",
        "批处理不支持流式输出：请去掉 stream。",
    ),
}
