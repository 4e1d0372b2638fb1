// A real VS Code (code-server) with Tiercel's vsix, driven by headless Chromium, on a copy of the sample project.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const ROOT = new URL("../..", import.meta.url).pathname;

const BROWSER_OPTIONS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until `look` returns something truthy and returns it. */
export async function until(look, what, ms = 20_000) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const found = await look();
    if (found) {
      return found;
    }
    await sleep(50);
  }
  throw new Error(`timed out: ${what}`);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Runs in the page: keeps every state of the ghost text, by change of the page and by frame. */
function record() {
  const selector =
    ".ghost-text-decoration, .ghost-text-decoration-preview, .ghost-text, .suggest-preview-text";
  const read = () =>
    [...document.querySelectorAll(selector)]
      .filter((element) => !element.querySelector(selector))
      .map((element) => element.textContent)
      .join("")
      .replace(/\u00a0/g, " ");
  const states = [];
  let last = "";
  const sample = () => {
    const now = read();
    if (now !== last) {
      last = now;
      states.push(now);
    }
    requestAnimationFrame(sample);
  };
  requestAnimationFrame(sample);
  window.tiercelGhost = read;
  window.tiercelStates = states;
}

/** Starts everything; `settings` are user settings beside the quiet ones. */
export async function start(settings = {}) {
  const installed = JSON.parse(
    execFileSync("python3", [join(ROOT, "scripts/vscode_server.py"), "install", "--browser"], {
      encoding: "utf8",
    }),
  );
  const home = mkdtempSync(join(tmpdir(), "tiercel-e2e-"));
  const workspace = join(home, "shop");
  cpSync(join(ROOT, "examples/shop"), workspace, { recursive: true });
  const data = join(home, "data");
  mkdirSync(join(data, "User"), { recursive: true });
  const python = join(ROOT, ".venv/bin/python");
  const all = {
    ...installed.settings,
    "git.enabled": false,
    "files.autoSave": "off",
    "tiercel.python": python,
    ...settings,
  };
  writeFileSync(join(data, "User/settings.json"), JSON.stringify(all));
  const places = ["--user-data-dir", data, "--extensions-dir", join(home, "extensions")];
  places.push("--config", join(home, "config.yaml"));
  const command = [installed.entry, ...places];
  const install = [...command, "--force", "--install-extension", join(ROOT, "tiercel.vsix")];
  // Its stderr tells at length of native modules that are left out on purpose.
  execFileSync(installed.node, install, { stdio: ["ignore", "ignore", "ignore"] });
  const port = await freePort();
  const log = openSync(join(home, "server.log"), "w");
  const options = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry"];
  options.push("--disable-update-check", "--disable-workspace-trust", "--disable-getting-started-override");
  const server = spawn(installed.node, [...command, ...options], {
    stdio: ["ignore", log, log],
    env: { ...process.env, EXTENSIONS_GALLERY: "{}" },
  });
  // However this process ends, the server ends with it; and a failed start must not wait for it.
  server.unref();
  process.once("exit", () => server.kill());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.once(signal, () => process.exit(1));
  }
  await until(
    () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        (r) => r.ok,
        () => false,
      ),
    "code-server is up",
  );
  const browser = await chromium.launch({
    executablePath: installed.chromium,
    headless: true,
    args: BROWSER_OPTIONS,
  });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  return new Editor({ home, workspace, port, server, browser, page });
}

/** A person at the editor. */
export class Editor {
  constructor(parts) {
    Object.assign(this, parts);
  }

  async open(file) {
    const payload = [["openFile", `vscode-remote://127.0.0.1:${this.port}${join(this.workspace, file)}`]];
    const query = `folder=${encodeURIComponent(this.workspace)}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
    await this.page.goto(`http://127.0.0.1:${this.port}/?${query}`);
    await this.page.waitForSelector(".monaco-editor .view-lines", { timeout: 60_000 });
    await this.page.evaluate(record);
  }

  async ready() {
    await this.status("Ready", 90_000);
  }

  /** Waits until the status bar's item says `text` (in its label for screen readers). */
  async status(text, timeout = 20_000) {
    await this.page.waitForSelector(
      `.statusbar-item[aria-label*="Tiercel: ${text}"], .statusbar-item [aria-label*="Tiercel: ${text}"]`,
      { timeout },
    );
  }

  async goTo(line, column) {
    await this.page.keyboard.press("Control+g");
    await this.page.waitForSelector(".quick-input-widget input");
    await this.page.keyboard.type(`${line}:${column}`);
    await this.page.keyboard.press("Enter");
    await this.page.waitForSelector(".quick-input-widget", { state: "hidden" });
    await sleep(100);
  }

  /** Runs a command by its title from the palette. */
  async command(title) {
    await this.page.keyboard.press("F1");
    await this.page.waitForSelector(".quick-input-widget input");
    await this.page.keyboard.type(title);
    await this.page.waitForSelector(
      `.quick-input-list .monaco-list-row:has-text("${title.split(": ").at(-1)}")`,
    );
    await this.page.keyboard.press("Enter");
  }

  type(text) {
    return this.page.keyboard.type(text, { delay: 20 });
  }

  press(key) {
    return this.page.keyboard.press(key);
  }

  /** The lines that are in view, without ghost text. */
  lines() {
    return this.page.evaluate(() =>
      [...document.querySelectorAll(".view-lines .view-line")].map((line) => {
        const copy = line.cloneNode(true);
        for (const ghost of copy.querySelectorAll(".ghost-text-decoration")) {
          ghost.remove();
        }
        return copy.textContent.replace(/\u00a0/g, " ");
      }),
    );
  }

  ghost() {
    return this.page.evaluate(() => window.tiercelGhost());
  }

  /** Every state of the ghost text since the last call, a frame each. */
  states() {
    return this.page.evaluate(() => window.tiercelStates.splice(0));
  }

  waitForGhost(ms = 20_000) {
    return until(() => this.ghost(), "ghost text", ms);
  }

  /** Waits until the ghost text has stopped growing and returns it. */
  async settledGhost() {
    let before = await this.waitForGhost();
    for (;;) {
      await sleep(600);
      const now = await this.ghost();
      if (now === before) {
        return now;
      }
      before = now;
    }
  }

  async save(file) {
    await this.page.keyboard.press("Control+s");
    await until(() => this.page.evaluate(() => !document.querySelector(".tab.dirty")), "the file is saved");
    return readFileSync(join(this.workspace, file), "utf8");
  }

  sidecars() {
    return sidecars(this.home);
  }

  /** Closes the browser and the server; resolves when the server has ended. */
  async stop() {
    await this.browser.close();
    this.server.ref();
    const ended = new Promise((resolve) => this.server.on("exit", resolve));
    this.server.kill();
    await ended;
  }

  clean() {
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** The process ids of the sidecars that belong to the VS Code kept in `home`. */
export function sidecars(home) {
  const pids = execFileSync("ps", ["-eo", "pid,args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes("-m tiercel serve"))
    .map((line) => Number.parseInt(line, 10));
  // Its working directory is the installed extension's folder.
  return pids.filter((pid) => {
    try {
      return execFileSync("readlink", [`/proc/${pid}/cwd`], { encoding: "utf8" }).startsWith(home);
    } catch {
      return false; // it has just ended
    }
  });
}
