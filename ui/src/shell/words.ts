// The words of the palette and of the keys.

export const en = {
  open: "Go to",
  title: "Go to",
  placeholder: "A page, a deployment, a worker",
  found: "Found",
  none: "Nothing is called so.",
  kinds: { page: "page", deployment: "deployment", worker: "worker", action: "action" },
  keys: "Keys",
  does: {
    palette: "go to a page, a deployment or a worker",
    search: "search on this page",
    help: "this list",
  },
};

export const zh: typeof en = {
  open: "跳转",
  title: "跳转",
  placeholder: "页面、部署或工作节点",
  found: "结果",
  none: "没有匹配的名称。",
  kinds: { page: "页面", deployment: "部署", worker: "工作节点", action: "操作" },
  keys: "快捷键",
  does: {
    palette: "跳转到页面、部署或工作节点",
    search: "在本页搜索",
    help: "显示此列表",
  },
};
