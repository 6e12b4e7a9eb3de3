// The words for what can be done with a deployment.

export const en = {
  start: "Start",
  again: "Try again",
  stop: "Stop",
  scale: "Scale",
  delete: "Delete",
  replicas: "Replicas",
  scaleTitle: "Replicas of {{model}}",
  scaleNote: "Fewer replicas end once their requests have ended; more are placed where they fit.",
  stopTitle: "Stop {{model}}",
  stopKeeps: "Its configuration stays; a start brings it back.",
  deleteTitle: "Delete {{model}}",
  deleteTakes:
    "Its configuration and its history go. Files that were fetched for it stay until they are deleted.",
  breaks_one: "{{count}} replica that serves ends after its requests; later requests are refused.",
  breaks_other: "{{count}} replicas that serve end after their requests; later requests are refused.",
  nothingServes: "None of its replicas serves now.",
};

export const zh: typeof en = {
  start: "启动",
  again: "重试",
  stop: "停止",
  scale: "伸缩",
  delete: "删除",
  replicas: "副本数",
  scaleTitle: "{{model}} 的副本数",
  scaleNote: "减少的副本在其请求结束后退出；增加的副本放到放得下的位置。",
  stopTitle: "停止 {{model}}",
  stopKeeps: "配置保留，可以再次启动。",
  deleteTitle: "删除 {{model}}",
  deleteTakes: "配置与历史一并删除。为它下载的文件会保留，直到被删除。",
  breaks_one: "{{count}} 个正在服务的副本在其请求结束后退出，之后的请求会被拒绝。",
  breaks_other: "{{count}} 个正在服务的副本在其请求结束后退出，之后的请求会被拒绝。",
  nothingServes: "目前没有副本在服务。",
};
