/** Finds the Python that runs the sidecar: the setting, the Python extension's, the environment that the set-up made. */

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { cleanPath, examine, type Finding } from "./interpreter";

export type Environment = { python: string } | { problem: string; fix: "setting" | "setup" };

/** Returns the first interpreter that will do, or what is wrong and which button mends it. */
export async function findEnvironment(root: string, log: vscode.LogOutputChannel): Promise<Environment> {
  const setting = vscode.workspace.getConfiguration("tiercel").get<string>("python") ?? "";
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const chosen = cleanPath(setting, folder, os.homedir());
  if (chosen !== undefined) {
    const finding = await examine(chosen, root);
    return finding.kind === "good" ? { python: chosen } : explain(chosen, finding, "setting");
  }
  const active = await activeInterpreter(log);
  if (active !== undefined) {
    const finding = await examine(active, root);
    if (finding.kind === "good") {
      return { python: active };
    }
    log.info(`The Python extension's interpreter ${active} will not do (${finding.kind}).`);
  }
  const made = madeBySetup(root);
  if (made === undefined) {
    return { problem: vscode.l10n.t("Tiercel's Python environment has not been set up."), fix: "setup" };
  }
  const finding = await examine(made, root);
  return finding.kind === "good" ? { python: made } : explain(made, finding, "setup");
}

function explain(python: string, finding: Finding, fix: "setting" | "setup"): Environment {
  const { t } = vscode.l10n;
  switch (finding.kind) {
    case "old":
      return { problem: t("Tiercel needs Python 3.11 or newer; {0} is {1}.", python, finding.version), fix };
    case "incomplete":
      return {
        problem: t("{0} lacks packages that Tiercel needs: {1}.", python, finding.missing.join(", ")),
        fix,
      };
    case "absent":
      return { problem: t("The Python interpreter {0} cannot be run: {1}", python, finding.reason), fix };
    case "good":
      return { python };
  }
}

/** The interpreter that the Python extension has active, if it is installed and well. */
async function activeInterpreter(log: vscode.LogOutputChannel): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  try {
    const api = await extension.activate();
    return api?.environments?.getActiveEnvironmentPath()?.path;
  } catch (error) {
    log.warn(`The Python extension does not answer: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** The environment beside the extension's own files, or the one that a set-up has written down. */
function madeBySetup(root: string): string | undefined {
  const own = path.join(
    root,
    ".venv",
    ...(process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"]),
  );
  if (existsSync(own)) {
    return own;
  }
  try {
    const written = JSON.parse(readFileSync(path.join(userData(), "environment.json"), "utf8"));
    return typeof written.python === "string" ? written.python : undefined;
  } catch {
    return undefined; // no set-up has run yet
  }
}

/** Where the sidecar's `platformdirs` puts a user's data. */
function userData(): string {
  if (process.platform === "win32") {
    const local = process.env.LOCALAPPDATA ?? path.join(os.homedir(), "AppData", "Local");
    return path.join(local, "tiercel", "tiercel");
  }
  if (process.platform === "darwin") {
    return path.join(os.homedir(), "Library", "Application Support", "tiercel");
  }
  return path.join(process.env.XDG_DATA_HOME || path.join(os.homedir(), ".local", "share"), "tiercel");
}

/** Runs the set-up that comes with the extension, its progress shown; returns whether it went well. */
export async function setUp(root: string, log: vscode.LogOutputChannel): Promise<boolean> {
  const options = { location: vscode.ProgressLocation.Notification, title: "Tiercel" };
  return vscode.window.withProgress(options, (progress) => {
    return new Promise<boolean>((resolve) => {
      const python = process.platform === "win32" ? "py" : "python3";
      const child = spawn(python, [path.join(root, "scripts", "setup.py"), "--no-extension"], { cwd: root });
      let last = "";
      child.stderr.on("data", (data: Buffer) => {
        last = data.toString().trim();
        log.info(last);
        progress.report({ message: last.replace(/^tiercel: /, "") });
      });
      child.on("error", (error) => {
        last = error.message;
        resolve(false);
      });
      child.on("close", (code) => {
        if (code !== 0) {
          vscode.window.showErrorMessage(vscode.l10n.t("The set-up failed: {0}", last));
        }
        resolve(code === 0);
      });
    });
  });
}
