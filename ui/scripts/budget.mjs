// Fails when what a browser must load before the first page is heavier than allowed (kB, gzip), or the whole build is.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const folder = new URL("../../gpustack_lite/ui/", import.meta.url).pathname;
const html = readFileSync(join(folder, "index.html"), "utf8");
const loadedFirst = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((found) => found[1]);

const gzipKb = (kind) =>
  loadedFirst
    .filter((name) => name.endsWith(kind))
    .reduce((sum, name) => sum + statSync(join(folder, `${name}.gz`)).size / 1000, 0);
const wholeKb = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .map((name) => statSync(join(folder, name)))
  .reduce((sum, stat) => sum + (stat.isFile() ? stat.size / 1000 : 0), 0);

const largestLazyKb = Math.max(
  ...readdirSync(join(folder, "assets"))
    .filter((name) => name.endsWith(".js") && !loadedFirst.includes(`assets/${name}`))
    .map((name) => statSync(join(folder, "assets", `${name}.gz`)).size / 1000),
);

const budgets = [
  ["initial JavaScript, gzip", gzipKb(".js"), 220],
  ["initial CSS, gzip", gzipKb(".css"), 45],
  ["the largest part that comes later, gzip", largestLazyKb, 120],
  ["everything on disk", wholeKb, 5000],
];
for (const [what, kb, limit] of budgets) {
  console.log(`${kb <= limit ? "ok  " : "OVER"} ${what}: ${kb.toFixed(1)} kB of ${limit}`);
}
process.exitCode = budgets.every(([, kb, limit]) => kb > 0 && kb <= limit) ? 0 : 1;
