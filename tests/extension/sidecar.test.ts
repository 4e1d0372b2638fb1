import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanPath, examine, judge } from "../../extension/src/sidecar/interpreter";
import { RestartPolicy } from "../../extension/src/sidecar/restart";
import { look } from "../../extension/src/ui/text";

test("a restart comes at once, then later and later, and not after five failures in three minutes", () => {
  const policy = new RestartPolicy();
  const delays = [0, 1, 2, 3, 4].map((second) => policy.next(second * 1000));
  assert.deepEqual(delays, [0, 500, 1000, 2000, undefined]);
  policy.reset();
  assert.equal(policy.next(6000), 0);
});

test("failures of more than three minutes ago are forgotten", () => {
  const policy = new RestartPolicy();
  for (let minute = 0; minute < 20; minute++) {
    assert.notEqual(policy.next(minute * 60_000), undefined);
  }
});

test("the interpreter's path is taken as people write it", () => {
  const clean = (text: string) => cleanPath(text, "/ws", "/home/ada");
  assert.equal(clean('  "/opt/my python/bin/python"  '), "/opt/my python/bin/python");
  assert.equal(clean("'python3'"), "python3");
  assert.equal(clean("~/venv/bin/python"), "/home/ada/venv/bin/python");
  assert.equal(clean("./.venv/bin/python"), "/ws/.venv/bin/python");
  assert.equal(clean("venv/bin/python"), "/ws/venv/bin/python");
  assert.equal(clean("python3"), "python3");
  assert.equal(clean("   "), undefined);
  assert.equal(clean("undefined"), undefined);
  assert.equal(cleanPath("venv/bin/python", undefined, "/h"), "venv/bin/python");
});

test("an interpreter is judged by what it says", () => {
  const say = (version: number[], missing: string[] = []) =>
    judge(null, JSON.stringify({ version, missing }));
  assert.deepEqual(say([3, 11, 0]), { kind: "good" });
  assert.deepEqual(say([4, 0, 0]), { kind: "good" });
  assert.deepEqual(say([3, 9, 1]), { kind: "old", version: "3.9.1" });
  assert.deepEqual(say([3, 12, 1], ["torch"]), { kind: "incomplete", missing: ["torch"] });
  assert.equal(judge(new Error("spawn ENOENT\nmore"), "").kind, "absent");
  assert.equal(judge(null, "Python 2.7").kind, "absent");
});

test("a real interpreter answers, an absent one is said to be absent", async () => {
  const found = await examine("python3", "/");
  assert.ok(found.kind === "good" || found.kind === "incomplete", JSON.stringify(found));
  const absent = await examine("/no/such/python", "/");
  assert.equal(absent.kind, "absent");
});

test("the status bar says what is going on", () => {
  const t = (text: string) => text;
  assert.equal(look({ state: "loading", message: "Reading", percent: 30 }, t).label, "Tiercel 30 %");
  assert.equal(look({ state: "loading", message: "Reading", percent: null }, t).label, "Tiercel");
  const error = look({ state: "error", message: "no room" }, t);
  assert.deepEqual([error.detail, error.problem], ["no room", true]);
  assert.equal(look({ state: "paused" }, t).detail, "Paused");
});
