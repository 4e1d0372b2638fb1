/** Looks at a Python interpreter from outside: its version and whether it has what the sidecar needs. */

import { execFile } from "node:child_process";
import * as path from "node:path";

export const NEEDED = [
  "asttokens",
  "gguf",
  "msgspec",
  "numpy",
  "pathspec",
  "platformdirs",
  "safetensors",
  "tokenizers",
  "torch",
  "typeshed_client",
  "watchdog",
];

const QUESTION = `
import importlib.util, json, sys
needed = ${JSON.stringify(NEEDED)}
missing = [name for name in needed if importlib.util.find_spec(name) is None]
print(json.dumps({"version": list(sys.version_info[:3]), "missing": missing}))
`;

export type Finding =
  | { kind: "good" }
  | { kind: "absent"; reason: string }
  | { kind: "old"; version: string }
  | { kind: "incomplete"; missing: string[] };

/** Asks the interpreter itself; `cwd` is a folder of ours, so that nothing of the workspace can be imported. */
export function examine(python: string, cwd: string): Promise<Finding> {
  return new Promise((resolve) => {
    execFile(python, ["-c", QUESTION], { cwd, timeout: 20_000 }, (error, stdout) => {
      resolve(judge(error, stdout));
    });
  });
}

/** Turns what the interpreter has printed into a finding. */
export function judge(error: Error | null, stdout: string): Finding {
  let answer: { version: number[]; missing: string[] };
  try {
    answer = JSON.parse(stdout);
  } catch {
    return { kind: "absent", reason: error?.message.split("\n")[0] ?? "it printed no answer" };
  }
  const [major = 0, minor = 0] = answer.version;
  if (major < 3 || (major === 3 && minor < 11)) {
    return { kind: "old", version: answer.version.join(".") };
  }
  return answer.missing.length > 0 ? { kind: "incomplete", missing: answer.missing } : { kind: "good" };
}

/**
 * Makes a path of what a person has put into the setting: blanks and quotes around it go, `~` is the home, a relative
 * path starts at `folder`; a bare command name is left to PATH. Returns undefined for nothing.
 */
export function cleanPath(given: string, folder: string | undefined, home: string): string | undefined {
  let text = given.trim();
  for (const quote of ['"', "'"]) {
    if (text.length > 1 && text.startsWith(quote) && text.endsWith(quote)) {
      text = text.slice(1, -1).trim();
    }
  }
  if (text === "" || text === "undefined") {
    return undefined;
  }
  if (text === "~" || text.startsWith("~/") || text.startsWith("~\\")) {
    return path.join(home, text.slice(1));
  }
  if (path.isAbsolute(text) || !/[\\/]/.test(text)) {
    return text;
  }
  return folder === undefined ? text : path.join(folder, text);
}
