/** Starts the sidecar's process. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import * as path from "node:path";

/** Resolves once the process runs; rejects if it cannot be run. `root` is the extension's folder. */
export function spawnSidecar(python: string, root: string): Promise<ChildProcessWithoutNullStreams> {
  // -P, and a folder of ours: no module of the workspace can stand in for one of the sidecar's.
  const child = spawn(python, ["-P", "-m", "tiercel", "serve"], {
    cwd: root,
    env: { ...process.env, PYTHONPATH: path.join(root, "sidecar"), PYTHONUTF8: "1" },
    windowsHide: true,
  });
  return new Promise((resolve, reject) => {
    child.once("spawn", () => resolve(child));
    child.on("error", reject);
  });
}
