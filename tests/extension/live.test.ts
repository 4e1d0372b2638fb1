import assert from "node:assert/strict";
import { test } from "node:test";
import { Live, type Place } from "../../extension/src/completion/live";

const AT: Place = { uri: "file:///a.py", version: 3, offset: 10 };
const insert = (offset: number, text: string) => ({ offset, removed: 0, text });

function grown(text: string, selected = ""): Live {
  const live = new Live(1, AT, selected);
  live.grow(text, true);
  return live;
}

test("a suggestion answers only at its own place and for its own selected entry", () => {
  const live = grown("total", "total");
  assert.ok(live.answers(AT, "total"));
  assert.ok(!live.answers(AT, ""));
  for (const other of [{ version: 4 }, { offset: 11 }, { uri: "file:///b.py" }]) {
    assert.ok(!live.standsAt({ ...AT, ...other }));
  }
});

test("typing along moves the place and leaves the rest", () => {
  const live = grown("total = 1", "total");
  assert.ok(live.follow(4, [insert(10, "to")]));
  assert.ok(live.answers({ ...AT, version: 4, offset: 12 }, "tal"));
  assert.equal(live.rest, "tal = 1");
  assert.ok(live.follow(5, [insert(12, "tal =")]));
  assert.equal(live.rest, " 1");
  assert.equal(live.start, 10);
});

test("anything else than typing along ends it", () => {
  for (const changes of [
    [insert(10, "x")],
    [insert(9, "t")],
    [{ offset: 9, removed: 1, text: "" }],
    [insert(10, "t"), insert(0, "t")],
    [insert(10, "total and more")],
  ]) {
    assert.ok(!grown("total").follow(4, changes), JSON.stringify(changes));
  }
});

test("a new version without an edit keeps it", () => {
  const live = grown("total");
  assert.ok(live.follow(4, []));
  assert.ok(live.standsAt({ ...AT, version: 4 }));
});

test("text that grows must continue what was typed", () => {
  const live = new Live(1, AT);
  live.grow("to", false);
  assert.ok(live.follow(4, [insert(10, "to")]));
  assert.ok(live.grow("total", false));
  assert.equal(live.rest, "tal");
  assert.ok(!live.grow("tax", true));
});

test("letters typed before any text has come end it: nobody knows what they would continue", () => {
  assert.ok(!new Live(1, AT).follow(4, [insert(10, "t")]));
});

test("it is used up when all of it has been typed and no more is to come", () => {
  const live = new Live(1, AT);
  live.grow("to", false);
  assert.ok(live.follow(4, [insert(10, "to")]));
  assert.ok(!live.usedUp, "more may come");
  live.grow("to", true);
  assert.ok(live.usedUp);
  assert.ok(!grown("total").usedUp);
  assert.ok(!grown("").usedUp, "nothing has come of it: asking again would give nothing again");
});
