import "./workers.css";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { useTranslation } from "react-i18next";
import type { Device, Worker } from "../api/types";
import { platformAddress } from "../base";
import { Command } from "../parts/Command";
import { Loaded } from "../parts/Loaded";
import { Meter } from "../parts/Meter";
import { useDevices, useInstances, useWorkers } from "../platform";
import { usePageTitle } from "../shell/usePageTitle";
import { ramClaimed } from "./capacity";
import { DevicesOfAll } from "./DevicesOfAll";
import { byChip, fleet, QUANTITIES, type Quantity } from "./fleet";
import { HeatGrid } from "./HeatGrid";
import { VIEWS, type View, viewOf, type WorkersSearch, workersSearch } from "./search";
import { WorkerCard } from "./WorkerCard";

const route = getRouteApi("/workers/");

export function WorkersPage() {
  const { t } = useTranslation();
  const workers = useWorkers();
  usePageTitle(t("workers.title"));
  return (
    <Loaded query={workers}>
      {(list) => (
        <>
          <div className="page-head">
            <h1>{t("workers.title")}</h1>
            <span className="soft">{t("workers.count", { count: list.items.length })}</span>
            <Link className="button push" to="/workers/add">
              {t("fleet.add")}
            </Link>
          </div>
          {list.items.length === 0 ? <NoWorkers /> : <Fleet workers={list.items} />}
        </>
      )}
    </Loaded>
  );
}

function NoWorkers() {
  const { t } = useTranslation();
  return (
    <div className="empty">
      <h2>{t("workers.emptyTitle")}</h2>
      <p>{t("workers.emptyText")}</p>
      <Command
        label={t("workers.emptyTitle")}
        text={`gpustack-lite join ${platformAddress()} --token TOKEN`}
      />
    </div>
  );
}

function Fleet({ workers }: { workers: Worker[] }) {
  const { t } = useTranslation();
  const devices = useDevices();
  const search = route.useSearch();
  const sought = useDeferredValue(search.q ?? "");
  const quantity = search.show ?? "used";
  const view = viewOf(search.view, workers.length);
  const rows = fleet(workers, devices.data?.items ?? [], quantity, sought);
  return (
    <>
      <Chips devices={devices.data?.items ?? []} isWorthIt={workers.length > 1} />
      <Choices view={view} quantity={quantity} q={search.q ?? ""} />
      {rows.length === 0 ? (
        <p className="soft">{t("fleet.noneFound")}</p>
      ) : (
        <Shown view={view} rows={rows} quantity={quantity} />
      )}
    </>
  );
}

function Shown({ view, rows, quantity }: { view: View; rows: ReturnType<typeof fleet>; quantity: Quantity }) {
  const navigate = useNavigate();
  const instances = useInstances();
  if (view === "grid") {
    const open = (name: string) => void navigate({ to: "/workers/$name", params: { name } });
    return <HeatGrid rows={rows} quantity={quantity} onOpen={open} />;
  }
  if (view === "table") return <DevicesOfAll rows={rows} />;
  return rows.map(({ worker, cells }) => (
    <WorkerCard
      key={worker.id}
      worker={worker}
      devices={cells.map(({ device }) => device)}
      claimed={ramClaimed(worker, instances.data)}
    />
  ));
}

function Choices({ view, quantity, q }: { view: View; quantity: Quantity; q: string }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const held = route.useSearch();
  const set = (change: WorkersSearch) =>
    void navigate({ to: "/workers", search: workersSearch({ ...held, ...change }), replace: true });
  return (
    <div className="toolbar">
      <input
        className="search"
        type="search"
        aria-label={t("fleet.filter")}
        placeholder={t("fleet.filter")}
        size={38}
        value={q}
        onChange={(event) => set({ q: event.currentTarget.value })}
      />
      <label>
        {t("fleet.view")}
        <select value={view} onChange={(event) => set({ view: event.currentTarget.value as View })}>
          {VIEWS.map((each) => (
            <option key={each} value={each}>
              {t(`fleet.views.${each}`)}
            </option>
          ))}
        </select>
      </label>
      {view === "grid" && (
        <label>
          {t("fleet.quantity")}
          <select value={quantity} onChange={(event) => set({ show: event.currentTarget.value as Quantity })}>
            {QUANTITIES.map((each) => (
              <option key={each} value={each}>
                {t(`fleet.quantities.${each}`)}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

function Chips({ devices, isWorthIt }: { devices: Device[]; isWorthIt: boolean }) {
  const { t } = useTranslation();
  const sums = byChip(devices);
  if (!isWorthIt || sums.length === 0) return null;
  return (
    <section className="card chips" aria-label={t("fleet.chips")}>
      {sums.map(({ chip, devices: count, total, claimed, used }) => (
        <div key={chip}>
          <h2>
            {chip} <span className="soft">{t("fleet.count", { count })}</span>
          </h2>
          <Meter label={chip} total={total} claimed={claimed} used={used} />
        </div>
      ))}
    </section>
  );
}
