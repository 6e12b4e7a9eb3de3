import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const OUT = "../gpustack_lite/ui";
const COMPRESSED = /\.(js|css|svg|html)$/;

/** Writes a .gz beside each text file, so that the server never has to compress. */
function gzipSiblings(): Plugin {
  return {
    name: "gzip-siblings",
    apply: "build",
    writeBundle(options) {
      const folder = options.dir ?? OUT;
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (!COMPRESSED.test(name)) continue;
        const path = join(folder, name);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  // relative, for a console below another path than / (src/base.ts)
  base: "./",
  plugins: [react(), gzipSiblings()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // scripts/budget.mjs counts what a browser loads
    chunkSizeWarningLimit: 1000,
  },
  worker: { format: "es" },
  server: { proxy: { "/api": "http://127.0.0.1:9090", "/v1": "http://127.0.0.1:9090" } },
});
