// Bundles the extension into dist/extension.js; --tests bundles the unit tests, --watch rebuilds at each change.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import esbuild from "esbuild";

const common = { bundle: true, platform: "node", target: "node20", format: "cjs", logLevel: "warning" };
const extension = {
  ...common,
  entryPoints: ["extension/src/extension.ts"],
  outfile: "dist/extension.js",
  external: ["vscode"],
  minify: true,
  sourcemap: "linked",
};
const folder = "tests/extension";
const tests = {
  ...common,
  entryPoints: readdirSync(folder).map((name) => ({ in: join(folder, name), out: basename(name, ".ts") })),
  outdir: "dist/tests",
  outExtension: { ".js": ".cjs" },
  sourcemap: "inline",
};

if (process.argv.includes("--watch")) {
  await (await esbuild.context(extension)).watch();
} else {
  await esbuild.build(process.argv.includes("--tests") ? tests : extension);
}
