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
}
