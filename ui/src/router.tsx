// Every address of the console.

import { createRootRoute, createRoute, createRouter, Link, lazyRouteComponent } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { type Tab, tabOf } from "./access/forms";
import { backendsSearch } from "./backends/search";
import { BASE } from "./base";
import { modelSearch, modelsSearch } from "./models/search";
import { playgroundSearch } from "./playground/search";
import { requestsSearch } from "./requests/search";
import { Gate } from "./session/Gate";
import { Shell } from "./shell/Shell";
import { usageSearch } from "./usage/search";
import { workersSearch } from "./workers/search";

/** Pages come when they are asked for; the first load carries the frame. */
const page = lazyRouteComponent;

const root = createRootRoute({
  component: () => (
    <Gate>
      <Shell />
    </Gate>
  ),
  notFoundComponent: NoSuchPage,
});

const models = createRoute({ getParentRoute: () => root, path: "/models" });

const workers = createRoute({ getParentRoute: () => root, path: "/workers" });

const routes = [
  createRoute({
    getParentRoute: () => root,
    path: "/",
    component: page(() => import("./overview/OverviewPage"), "OverviewPage"),
  }),
  models.addChildren([
    createRoute({
      getParentRoute: () => models,
      path: "/",
      component: page(() => import("./models/ModelsPage"), "ModelsPage"),
      validateSearch: modelsSearch,
    }),
    // names may hold slashes, as in org/name
    createRoute({
      getParentRoute: () => models,
      path: "$",
      component: page(() => import("./models/ModelPage"), "ModelPage"),
      validateSearch: modelSearch,
    }),
  ]),
  createRoute({
    getParentRoute: () => root,
    path: "/instances/$id/logs",
    component: page(() => import("./logs/LogsPage"), "LogsPage"),
    validateSearch: (search: Record<string, unknown>): { attempt?: number } =>
      Number.isInteger(search.attempt) ? { attempt: search.attempt as number } : {},
  }),
  workers.addChildren([
    createRoute({
      getParentRoute: () => workers,
      path: "/",
      component: page(() => import("./workers/WorkersPage"), "WorkersPage"),
      validateSearch: workersSearch,
    }),
    createRoute({
      getParentRoute: () => workers,
      path: "add",
      component: page(() => import("./workers/AddWorkerPage"), "AddWorkerPage"),
    }),
    createRoute({
      getParentRoute: () => workers,
      path: "$name",
      component: page(() => import("./workers/WorkerPage"), "WorkerPage"),
    }),
  ]),
  createRoute({
    getParentRoute: () => root,
    path: "/files",
    component: page(() => import("./files/FilesPage"), "FilesPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/backends",
    component: page(() => import("./backends/BackendsPage"), "BackendsPage"),
    validateSearch: backendsSearch,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/deploy",
    component: page(() => import("./deploy/DeployPage"), "DeployPage"),
    validateSearch: (search: Record<string, unknown>): { copy?: string } =>
      typeof search.copy === "string" || typeof search.copy === "number" ? { copy: String(search.copy) } : {},
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/access",
    component: page(() => import("./access/AccessPage"), "AccessPage"),
    validateSearch: ({ tab }: Record<string, unknown>): { tab: Tab } => ({ tab: tabOf(tab) }),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/audit",
    component: page(() => import("./audit/AuditPage"), "AuditPage"),
    validateSearch: ({ q }: Record<string, unknown>): { q?: string } =>
      typeof q === "string" && q !== "" ? { q } : {},
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/playground",
    component: page(() => import("./playground/PlaygroundPage"), "PlaygroundPage"),
    validateSearch: playgroundSearch,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/usage",
    component: page(() => import("./usage/UsagePage"), "UsagePage"),
    validateSearch: usageSearch,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/requests",
    component: page(() => import("./requests/RequestsPage"), "RequestsPage"),
    validateSearch: requestsSearch,
  }),
] as const;

export const router = createRouter({ routeTree: root.addChildren(routes), basepath: BASE || "/" });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function NoSuchPage() {
  const { t } = useTranslation();
  return (
    <>
      <h1>{t("app.notFound")}</h1>
      <p>
        <Link to="/">{t("app.toOverview")}</Link>
      </p>
    </>
  );
}
