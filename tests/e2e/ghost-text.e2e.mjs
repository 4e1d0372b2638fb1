// The first thing that a person sees: ghost text of the real default model in a real VS Code.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ROOT, sidecars, sleep, start, until } from "./harness.mjs";

const FILE = "orders/views.py";
const LINE = 15; // "    order.save()" in process_order

let editor;

before(async () => {
  editor = await start();
  await editor.open(FILE);
  await editor.ready();
  await editor.page.click(".monaco-editor .view-lines");
});

after(async () => {
  await editor?.browser.close();
  editor?.server.kill();
  editor?.clean();
});

/** Opens a new line below `order.save()` and types `text` there; the list of names that opens at a dot stays open. */
async function typeInProcessOrder(text) {
  await editor.goTo(LINE, 100);
  await editor.press("Enter");
  await editor.states();
  await editor.type(text);
}

async function undoAll() {
  await editor.press("Escape");
  for (let step = 0; step < 30; step++) {
    await editor.press("Control+z");
  }
  await editor.save(FILE);
}

test("typing `order.` in process_order shows ghost text, and Tab inserts it into the file", async () => {
  await typeInProcessOrder("order.");
  await editor.page.waitForSelector(".suggest-widget.visible .monaco-list-row");
  const selected = await editor.page
    .locator(".suggest-widget .monaco-list-row.focused .label-name")
    .textContent();
  const extended = await editor.settledGhost();
  assert.ok(extended.startsWith(selected), `${extended} does not continue the selected ${selected}`);
  if (process.env.TIERCEL_SCREENSHOT) {
    await editor.page.screenshot({ path: `${ROOT}/docs/images/ghost-text.png` });
  }
  await editor.press("Escape"); // the list closes: the model is free to choose
  await until(async () => (await editor.ghost()) !== extended, "the answer without the list");
  const shown = await editor.settledGhost();
  assert.match(shown, /^\w/);
  await editor.press("Tab");
  await until(async () => (await editor.lines()).includes(`    order.${shown}`), "the text is in the editor");
  assert.equal(await editor.ghost(), "");
  const saved = await editor.save(FILE);
  assert.ok(saved.includes(`    order.save()\n    order.${shown}`), `${shown} is not in\n${saved}`);
  await undoAll();
});

test("ghost text appears while typing, grows without a blank frame, and Escape hides it", async () => {
  await typeInProcessOrder("total = ");
  await editor.settledGhost();
  const states = (await editor.states()).filter(
    (_state, index, all) => index >= all.findIndex((each) => each),
  );
  assert.ok(!states.includes(""), `blank between: ${JSON.stringify(states)}`);
  await editor.press("Escape");
  await until(async () => (await editor.ghost()) === "", "hidden");
  await sleep(500);
  assert.equal(await editor.ghost(), "");
  await undoAll();
});

test("typing along the ghost text keeps it, a wrong letter hides it at once", async () => {
  await typeInProcessOrder("if order.total ");
  const shown = await editor.settledGhost();
  await editor.states();
  await editor.type(shown.slice(0, 1));
  await sleep(300);
  assert.equal(await editor.ghost(), shown.slice(1));
  assert.ok(!(await editor.states()).includes(""), "it flickered");
  await editor.type("§");
  await until(async () => (await editor.ghost()) !== shown.slice(2), "another text or none");
  await undoAll();
});

test("a cursor move drops a late answer, and nothing is offered where nobody has typed", async () => {
  for (const pause of [0, 150]) {
    await typeInProcessOrder("notify = ");
    await sleep(pause); // VS Code waits about 50 ms before it asks: the cursor moves before that, and after
    await editor.press("ArrowUp");
    await editor.press("ArrowUp");
    await editor.states();
    await sleep(2000);
    assert.deepEqual((await editor.states()).filter(Boolean), []);
    await undoAll();
  }
});

test("a sidecar that is killed mid-request comes back, and the next keystroke completes", async () => {
  const [pid] = editor.sidecars();
  await typeInProcessOrder("amount =");
  await editor.type(" ");
  await sleep(120);
  process.kill(pid, "SIGKILL");
  await until(() => editor.sidecars().some((other) => other !== pid), "a new sidecar");
  await editor.ready();
  await editor.press("Backspace");
  await editor.type(" ");
  assert.notEqual(await editor.settledGhost(), "");
  await undoAll();
});

test("Restart replaces a sidecar that hangs", async () => {
  const [pid] = editor.sidecars();
  process.kill(pid, "SIGSTOP");
  await editor.command("Tiercel: Restart");
  await until(() => editor.sidecars().length === 1 && editor.sidecars()[0] !== pid, "a new sidecar alone");
  await editor.status("Loading");
  await editor.ready();
});

test("what the model sees is shown, with the fields of the class at the cursor", async () => {
  await typeInProcessOrder("order.");
  await editor.press("Escape");
  await editor.command("Tiercel: Show What the Model Sees");
  await until(
    async () => (await editor.lines()).some((line) => line.includes("order is its instance")),
    "the account",
  );
  await editor.command("View: Close All Editors in Group");
  await editor.press("Control+1");
  await undoAll();
});

test("closing VS Code's server leaves no sidecar", async () => {
  assert.equal(editor.sidecars().length, 1);
  const { home } = editor;
  await editor.stop();
  await until(() => sidecars(home).length === 0, "no sidecar is left", 10_000);
});
