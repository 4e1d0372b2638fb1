"""How much of the prompt stays while somebody types: `scripts/bench reuse [--root DIR] [--quick] [--json FILE]`.

Functions of real files are typed anew, a character at a time; for each order of the parts, the share of a prompt's
tokens that are a common prefix with the one before is what the KV cache need not compute again.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import statistics
import sys
import sysconfig
from pathlib import Path

from machine import describe
from tokenizers import Tokenizer

from tiercel.context.order import Slots, Strategy
from tiercel.context.prompt import build
from tiercel.index.workspace import Index
from tiercel.inference.default_model import ensure_default_model
from tiercel.inference.tokenize import TextTokens

STEP = 5  # characters typed between two prompts
STRATEGIES: tuple[Strategy, ...] = ("cursor_last", "source", "cursor_first")


def main(argv: list[str] | None = None) -> int:
    """Replay the typing and print the table."""
    parser = argparse.ArgumentParser(prog="scripts/bench reuse", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(sysconfig.get_paths()["purelib"]) / "django" / "forms")
    parser.add_argument("--functions", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="2 functions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    print(describe(), file=sys.stderr)
    functions = _functions(options.root, 2 if options.quick else options.functions, options.seed)
    tokenizer = Tokenizer.from_file(str(ensure_default_model() / "tokenizer.json"))
    rows = []
    for strategy in STRATEGIES:
        for slots in (True, False):
            shares = [share for one in functions for share in _replay(options.root, *one, strategy, slots, tokenizer)]
            rows.append({"order": strategy, "slots": slots, "prompts": len(shares), **_spread(shares)})
    print(f"{'order':14}{'slots':>7}{'prompts':>9}{'p50':>8}{'p5':>8}{'mean':>8}")
    for row in rows:
        kept = "kept" if row["slots"] else "new"
        print(f"{row['order']:14}{kept:>7}{row['prompts']:>9}{row['p50']:>8.3f}{row['p5']:>8.3f}{row['mean']:>8.3f}")
    if options.json:
        options.json.write_text(json.dumps({"machine": describe(), "rows": rows}, indent=2) + "\n", encoding="utf-8")
    return 0


def _functions(root: Path, count: int, seed: int) -> list[tuple[Path, int, int]]:
    """Return functions of 6 to 30 lines: the file, the first and the last line of the body (0-based)."""
    found = []
    for file in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first, last = node.body[0].lineno - 1, (node.end_lineno or node.lineno) - 1
                if 6 <= last - first <= 30:
                    found.append((file, first, last))
    return random.Random(seed).sample(found, min(count, len(found)))


def _replay(
    root: Path, file: Path, first: int, last: int, strategy: Strategy, keep: bool, tokenizer: Tokenizer
) -> list[float]:
    """Type a function's body anew; return the share of each prompt that is shared with the one before."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    head, body, tail = "".join(lines[:first]), "".join(lines[first : last + 1]), "".join(lines[last + 1 :])
    tokens = TextTokens(tokenizer)
    index = Index([root])
    path = str(file)
    index.open(path, head + "\n" + tail)
    slots = Slots()
    shares = []
    previous: list[int] = []
    for typed in range(STEP, len(body), STEP):
        text, offset = head + body[:typed] + "\n" + tail, len(head) + typed
        if not body[:typed].rpartition("\n")[2].strip():
            continue  # an editor indents a new line at once: nobody stands here
        index.open(path, text)
        prompt = build(index, path, text, offset, 600, tokens, strategy=strategy, slots=slots if keep else None)
        ids = tokenizer.encode(prompt.prefix, add_special_tokens=False).ids
        if previous and ids:
            shared = next((n for n, (a, b) in enumerate(zip(ids, previous, strict=False)) if a != b), len(previous))
            shares.append(min(shared, len(ids)) / len(ids))
        previous = ids
    return shares


def _spread(shares: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(shares, n=20)
    return {"p50": statistics.median(shares), "p5": cuts[0], "mean": statistics.fmean(shares)}


if __name__ == "__main__":
    sys.exit(main())
