"""How accurate completions are by what the model reads: `scripts/bench accuracy --cases FILE.jsonl --root DIR`.

DIR/corpus/<repo> are the workspaces, DIR/env the environment with their dependencies. Every row of the table is a way
to make the prompt; every case is answered greedily by the same model. The truth is used as a draft: one forward pass
scores it, and only from the first token on that the model would not have said is anything generated.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from machine import describe

from tiercel.context.order import Strategy
from tiercel.context.prompt import build
from tiercel.index.workspace import Index
from tiercel.inference.heal import Vocabulary
from tiercel.inference.kv_cache import Session
from tiercel.inference.load import Model, load
from tiercel.inference.tokenize import TextTokens
from tiercel.settings import IndexSettings, ModelSettings

Case = dict[str, Any]
Prompt = Callable[[Index, str, str, int], str]
MEASURES = ("first_token", "identifier", "member", "line", "similarity")
LONGEST = 32
_WORD = re.compile(r"\w*")


def main(argv: list[str] | None = None) -> int:
    """Run the cases that have no result yet, then print the table."""
    parser = argparse.ArgumentParser(prog="scripts/bench accuracy", description=__doc__)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=0, help="how many cases, evenly over the kinds; 0: all")
    parser.add_argument("--quick", action="store_true", help="8 cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=600, help="tokens of a prompt")
    parser.add_argument("--window", type=int, default=2048, help="tokens of the whole file that are kept")
    parser.add_argument("--only", nargs="*", default=[], help="only these rows")
    parser.add_argument("--results", type=Path, help="keep results here (JSON lines) and go on from what is there")
    parser.add_argument("--json", type=Path, help="write the table here")
    options = parser.parse_args(argv)
    cases = _sample(options.cases, 8 if options.quick else options.sample, options.seed)
    print(describe(), file=sys.stderr)
    model = load(ModelSettings(threads=2), lambda percent, what: None)
    rows = _rows(model, options.budget, options.window)
    rows = {name: row for name, row in rows.items() if not options.only or name in options.only}
    results = _known(options.results)
    for done, result in enumerate(_run(cases, rows, options.root, model, results), start=1):
        results.append(result)
        if options.results:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
        print(f"\r{done} results", end="", file=sys.stderr)
    print(file=sys.stderr)
    wanted = {case["id"] for case in cases}
    table = _table([r for r in results if r["id"] in wanted and r["row"] in rows], list(rows))
    _print(table)
    if options.json:
        options.json.write_text(json.dumps({"machine": describe(), "rows": table}, indent=2) + "\n", encoding="utf-8")
    return 0


def _sample(file: Path, count: int, seed: int) -> list[Case]:
    """Return `count` cases (all for 0), as many of each kind, those of one workspace together."""
    cases = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if count:
        kinds = sorted({case["kind"] for case in cases})
        chosen: list[Case] = []
        for number, kind in enumerate(kinds):
            share = count // len(kinds) + (number < count % len(kinds))
            of_kind = [case for case in cases if case["kind"] == kind]
            chosen += random.Random(seed).sample(of_kind, min(share, len(of_kind)))
        cases = chosen
    return sorted(cases, key=lambda case: (case["repo"], case["id"]))


def _known(file: Path | None) -> list[dict[str, Any]]:
    if file is None or not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _rows(model: Model, budget: int, window: int) -> dict[str, Prompt]:
    """Return the ways to make a prompt, by name."""
    tokens = TextTokens(model.tokenizer)

    def whole_file(_index: Index, _path: str, text: str, offset: int) -> str:
        return tokens.tail(text[:offset], window)

    def lines(_index: Index, _path: str, text: str, offset: int) -> str:
        return "".join(text[:offset].splitlines(keepends=True)[-51:])

    def staged(strategy: Strategy, dependencies: bool, fill: bool = False) -> Prompt:
        def make(index: Index, path: str, text: str, offset: int) -> str:
            made = build(
                index, path, text, offset, budget, tokens, strategy=strategy, dependencies=dependencies, fill=fill
            )
            return made.prefix

        return make

    rows: dict[str, Prompt] = {"whole file": whole_file, "50 lines": lines}
    rows["stage 1"] = staged("cursor_last", False)
    for strategy in ("cursor_last", "source", "cursor_first"):
        rows[f"stage 1+2, {strategy}"] = staged(strategy, True)
    rows["stage 1+2, filled"] = staged("cursor_last", True, True)
    return rows


def _run(
    cases: list[Case], rows: dict[str, Prompt], root: Path, model: Model, known: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    done = {(result["id"], result["row"]) for result in known}
    session = Session(model.forward.new_cache(4096))
    index: Index | None = None
    workspace = ""
    for case in cases:
        waiting = [name for name in rows if (case["id"], name) not in done]
        if not waiting:
            continue
        folder = root / "corpus" / case["repo"]
        if index is None or workspace != case["repo"]:
            workspace = case["repo"]
            index = Index([folder], IndexSettings(interpreter=str(root / "env" / "bin" / "python")))
            index.scan()
        path = str(folder / case["path"])
        full = (folder / case["path"]).read_bytes().decode("utf-8")
        text, offset = full[: case["offset"]] + full[case["end_offset"] :], case["offset"]
        index.open(path, text)
        for name in waiting:
            prompt = rows[name](index, path, text, offset)
            yield {"id": case["id"], "kind": case["kind"], "row": name, **_answer(model, session, prompt, case)}
        index.close(path)


def _answer(model: Model, session: Session, prompt: str, case: Case) -> dict[str, Any]:
    """Return how the model's greedy line compares with the truth."""
    truth = case["rest_of_line"]
    said = _greedy_line(model, session, prompt, truth)
    identifier = case["expected_ident"][case.get("prefix_len", 0) :]
    named = bool(identifier) and truth.startswith(identifier)
    return {
        "tokens": said["tokens"],
        "first_token": float(bool(said["first"]) and (truth + "\n").startswith(said["first"])),
        "identifier": float(_word(said["line"]) == identifier) if named else None,
        "member": float(_word(said["line"]) == identifier) if case["kind"] == "member" else None,
        "line": float(said["line"].rstrip() == truth.rstrip()),
        "similarity": difflib.SequenceMatcher(None, said["line"].strip(), truth.strip()).ratio(),
    }


def _word(line: str) -> str:
    found = _WORD.match(line)
    return found[0] if found else ""


def _greedy_line(model: Model, session: Session, prompt: str, truth: str) -> dict[str, Any]:
    """Return the greedy line that continues a prompt, its first token's text, and the prompt's size in tokens.

    As the generator does it, the prompt's last token is said again (token healing).
    """
    tokenizer, network, vocabulary = model.tokenizer, model.forward, model.vocabulary
    assert vocabulary is not None
    room = session.cache.capacity - 256
    ids = tokenizer.encode(prompt, add_special_tokens=False).ids[-room:]
    rest = again = vocabulary.text(ids[-1])
    ids = ids[:-1]
    whole = tokenizer.encode(prompt[-400:] + truth + "\n", add_special_tokens=False).ids
    draft = _tail_after(whole, len((again.decode("utf-8", "ignore") + truth + "\n").encode()), vocabulary)
    kept = session.resync(ids)
    for start in range(kept, len(ids) - 1, 256):
        part = ids[start : min(start + 256, len(ids) - 1)]
        network.forward(part, session.cache)
        session.appended(part)
    logits = network.forward([ids[-1], *draft], session.cache, last=1 + len(draft))
    new: list[int] = []
    for step in range(len(draft) + 1):
        token = vocabulary.choose(logits[step], rest)
        if step == len(draft) or token != draft[step]:
            break
        new.append(token)
        rest = vocabulary.left(rest, token)
    session.cache.length = len(ids) + len(new)
    session.ids = [*ids, *new]

    while "\n" not in _decoded(vocabulary, new, again) and len(new) < LONGEST and token not in model.end_ids:
        new.append(token)
        rest = vocabulary.left(rest, token)
        token = vocabulary.choose(network.forward([token], session.cache)[-1], rest)
        session.appended(new[-1:])
    line = _decoded(vocabulary, new, again)
    first = next((text_of for n in range(1, len(new) + 1) if (text_of := _decoded(vocabulary, new[:n], again))), "")
    return {"first": first, "line": line.split("\n")[0], "tokens": len(ids) + 1}


def _tail_after(ids: list[int], length: int, vocabulary: Vocabulary) -> list[int]:
    """Return the last ids whose bytes are at most `length` long."""
    taken: list[int] = []
    while ids and length >= len(vocabulary.text(ids[-1])):
        length -= len(vocabulary.text(ids[-1]))
        taken.insert(0, ids.pop())
    return taken


def _decoded(vocabulary: Vocabulary, ids: list[int], again: bytes) -> str:
    return b"".join(map(vocabulary.text, ids))[len(again) :].decode("utf-8", "ignore")


def _table(results: list[dict[str, Any]], rows: list[str]) -> list[dict[str, Any]]:
    """Return means with 95 % confidence intervals by bootstrap over the cases, a row each."""
    table = []
    for name in rows:
        of_row = [result for result in results if result["row"] == name]
        entry: dict[str, Any] = {"row": name, "cases": len(of_row)}
        for measure in ("tokens", *MEASURES):
            values = [result[measure] for result in of_row if result[measure] is not None]
            entry[measure] = _interval(values)
        table.append(entry)
    return table


def _interval(values: list[float]) -> tuple[float, float, float]:
    if not values:
        return (0.0, 0.0, 0.0)
    draw = random.Random(0)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(1000))
    return sum(values) / len(values), means[25], means[974]


def _print(table: list[dict[str, Any]]) -> None:
    print(f"{'':24} {'cases':>5} {'tokens':>7}  " + "  ".join(f"{measure:>17}" for measure in MEASURES))
    for entry in table:
        cells = [f"{mean:.3f} ({low:.2f}–{high:.2f})" for mean, low, high in (entry[m] for m in MEASURES)]
        print(
            f"{entry['row']:24} {entry['cases']:>5} {entry['tokens'][0]:>7.0f}  " + "  ".join(f"{c:>17}" for c in cells)
        )


if __name__ == "__main__":
    sys.exit(main())
