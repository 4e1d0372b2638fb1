"""How long the index takes: first start, next start, an edit, a checkout; and its memory. Beside jedi and pyright.

scripts/bench index [--quick] [--json FILE] [--files N] [--no-peers]

The tree is a copy of the standard library and of the installed packages, N files of it. "Edit" is the time from a
one-character edit to a fresh index of the module. jedi and pyright are given a sample of the same files, for scale:
neither keeps an index of a workspace, they parse (and pyright checks) what they are asked about. They are used if
`pip install jedi` and `npm install pyright` have been done; else their rows say so.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tiercel.index.cold import fill, refresh
from tiercel.index.files import decode, index_batch
from tiercel.index.parse import edited, parsed
from tiercel.index.store import Store
from tiercel.index.workspace import Index

SEED = 11
Row = tuple[str, str]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,000 files and fewer edits")
    parser.add_argument("--json", type=Path, default=None, help="write the numbers to a file")
    parser.add_argument("--files", type=int, default=None, help="files in the tree (default 10,000)")
    parser.add_argument("--no-peers", action="store_true", help="leave out jedi and pyright")
    options = parser.parse_args(argv)
    number = options.files or (1_000 if options.quick else 10_000)
    found: dict[str, object] = {"machine": machine()}
    for name, value in machine().items():
        print(f"{name:>10}  {value}")
    with tempfile.TemporaryDirectory(prefix="tiercel-bench-") as folder:
        root = Path(folder) / "tree"
        files = copy_tree(root, number)
        print(f"{'tree':>10}  {len(files)} files, {sum(f.stat().st_size for f in files) / 1e6:.0f} MB\n")
        found["start"] = starts(root, Path(folder))
        found["checkout"] = checkout(root, files, 200 if options.quick else 2_000)
        found["edits"] = edits(40 if options.quick else 200)
        if not options.no_peers:
            found["sample"] = peers(files, Path(folder), 40 if options.quick else 200)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def machine() -> dict[str, object]:
    """Return what the numbers depend on."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else "unknown",
        "commit": commit.stdout.strip() or "unknown",
    }


def copy_tree(root: Path, number: int) -> list[Path]:
    """Copy Python files of the standard library, then of the installed packages, until there are enough."""
    library, packages = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
    chosen: list[tuple[Path, Path]] = []
    for base in (library, packages):
        for file in sorted(base.rglob("*.py")):
            if base == packages or "site-packages" not in file.parts:
                chosen.append((file, root / base.name / file.relative_to(base)))
    copied = []
    for source, target in chosen[:number]:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        copied.append(target)
    # A folder of this name would be left out.
    if (root / "site-packages").exists():
        (root / "site-packages").rename(root / "packages")
        copied = [Path(str(file).replace(f"{root}/site-packages/", f"{root}/packages/")) for file in copied]
    return copied


def starts(root: Path, folder: Path) -> dict[str, object]:
    """Measure the first start by 1 and by 2 processes, and the next start."""
    found: dict[str, object] = {}
    print(f"{'start':<28}{'seconds':>9}{'files/s':>9}{'symbols':>10}{'fallbacks':>30}")
    for workers in (1, 2):
        store = Store(folder / f"{workers}.sqlite3")
        report = fill(Index([root]), store, workers=workers)
        store.close()
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.fallbacks.items()))
        name = f"cold, {workers} process{'es' if workers > 1 else ''}"
        print(f"{name:<28}{report.seconds:>9.2f}{report.files / report.seconds:>9.0f}{report.symbols:>10}{kinds:>30}")
        found[name] = {"seconds": report.seconds, "files": report.files, "symbols": report.symbols, "kinds": kinds}
    gc.collect()
    before = resident()
    index, store = Index([root]), Store(folder / "2.sqlite3")
    report = fill(index, store)
    store.close()
    gc.collect()
    memory = resident() - before
    print(f"{'warm':<28}{report.seconds:>9.2f}{report.files / report.seconds:>9.0f}{report.symbols:>10}")
    begin = time.perf_counter()
    index.uses.update()
    uses = time.perf_counter() - begin
    with_uses = resident() - before
    size = (folder / "2.sqlite3").stat().st_size
    print(
        f"\nmemory: {memory / report.files / 1024:.1f} KB a file, {memory / report.symbols:.0f} bytes a symbol "
        f"({index.packed_bytes() / report.files / 1024:.1f} KB packed); with the counts of attribute uses "
        f"{with_uses / report.files / 1024:.1f} KB a file, {uses:.2f} s to count them; on disk {size / 1e6:.0f} MB\n"
    )
    found["warm"] = {"seconds": report.seconds, "files": report.files}
    found["memory"] = {"bytes_per_file": memory / report.files, "bytes_per_symbol": memory / report.symbols,
                       "with_uses_per_file": with_uses / report.files, "uses_seconds": uses}  # fmt: skip
    return found


def resident() -> int:
    """Return the bytes of memory that this process holds; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def checkout(root: Path, files: list[Path], number: int) -> dict[str, object]:
    """Measure how long the index takes to follow when many files change at once."""
    index = Index([root])
    changed = random.Random(SEED).sample(files, min(number, len(files)))
    for file in changed:
        with file.open("ab") as stream:
            stream.write(b"\n\nadded = 1\n")
    begin = time.perf_counter()
    refresh(index, None, [str(file) for file in changed])
    seconds = time.perf_counter() - begin
    print(f"checkout of {len(changed)} files: {seconds:.2f} s\n")
    return {"files": len(changed), "seconds": seconds}


def edits(number: int) -> dict[str, object]:
    """Measure one-character edits in real files of about 100, 1,000 and 10,000 lines."""
    found: dict[str, object] = {}
    lengths = {file: count_lines(file) for file in candidates()}
    print(f"{'edit':<26}{'lines':>7}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}{'cpu p50':>9}{'cpu p99':>9}{'open ms':>9}")
    for lines in (100, 1_000, 10_000):
        nearest = sorted(lengths, key=lambda file: abs(lengths[file] - lines))[:5]
        times: list[float] = []
        processor: list[float] = []
        opening: list[float] = []
        for file in nearest:
            text = decode(file.read_bytes())
            begin = time.perf_counter()
            module = parsed(text)
            _ = module.module
            opening.append(time.perf_counter() - begin)
            for wall, cpu in type_into(text, number // 5 * (5 if lines == 10_000 else 10)):
                times.append(wall)
                processor.append(cpu)
        times.sort()
        processor.sort()
        row = {"p50": quantile(times, 0.5), "p99": quantile(times, 0.99), "max": times[-1]}
        row |= {"cpu_p50": quantile(processor, 0.5), "cpu_p99": quantile(processor, 0.99)}
        mean_lines = statistics.mean(lengths[file] for file in nearest)
        print(
            f"{f'{len(times)} edits in {len(nearest)} files':<26}{mean_lines:>7.0f}{row['p50'] * 1e3:>9.2f}"
            f"{row['p99'] * 1e3:>9.2f}{row['max'] * 1e3:>9.2f}"
            f"{row['cpu_p50'] * 1e3:>9.2f}{row['cpu_p99'] * 1e3:>9.2f}{statistics.mean(opening) * 1e3:>9.1f}"
        )
        found[str(lines)] = {**row, "open": statistics.mean(opening), "files": [file.name for file in nearest]}
    print()
    return found


def candidates() -> list[Path]:
    """Return the files to edit: the standard library and the installed packages, up to 1 MB."""
    bases = (Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib")))
    files = [file for base in bases for file in base.rglob("*.py")]
    return [file for file in dict.fromkeys(files) if 1_000 < file.stat().st_size < 1_000_000]


def count_lines(file: Path) -> int:
    """Return the lines of a file."""
    return file.read_bytes().count(b"\n")


def type_into(text: str, number: int) -> list[tuple[float, float]]:
    """Type a statement, character by character, at random lines of a text.

    Returns the seconds that each edit took, by the clock and of this thread on a processor.
    """
    chance = random.Random(SEED)
    statement = "value = self.order.total(1, name[0])"
    line_ends = [at for at, character in enumerate(text) if character == "\n" and text[at - 1 : at] not in ("", "\\")]
    times: list[tuple[float, float]] = []
    while len(times) < number:
        module = parsed(text)
        _ = module.module
        at = chance.choice(line_ends)
        begin = text.rfind("\n", 0, at) + 1
        indent = text[begin:at][: len(text[begin:at]) - len(text[begin:at].lstrip())]
        current = text
        for new in ["\n" + indent, *statement]:
            changed = current[:at] + new + current[at:]
            start, busy = time.perf_counter(), time.thread_time()
            module = edited(module, changed, at, at, len(new))
            _ = module.module
            times.append((time.perf_counter() - start, time.thread_time() - busy))
            current, at = changed, at + len(new)
    return times[:number]


def quantile(values: list[float], share: float) -> float:
    """Return a quantile of sorted values."""
    return values[min(len(values) - 1, int(len(values) * share))]


def peers(files: list[Path], folder: Path, number: int) -> dict[str, object]:
    """Measure this index, jedi and pyright on the same sample of files."""
    sample = random.Random(SEED).sample(files, min(number, len(files)))
    print(f"{f'sample of {len(sample)} files':<28}{'seconds':>9}{'files/s':>9}")
    rows: dict[str, float | str] = {}
    begin = time.perf_counter()
    index_batch([(str(file), b"") for file in sample], 1_000_000)
    rows["tiercel, 1 process"] = time.perf_counter() - begin
    rows["jedi, names of each file"] = jedi_seconds(sample, folder)
    rows["pyright, first analysis"] = pyright_seconds(sample, folder)
    for name, seconds in rows.items():
        if isinstance(seconds, str):
            print(f"{name:<28}  {seconds}")
        else:
            print(f"{name:<28}{seconds:>9.2f}{len(sample) / seconds:>9.0f}")
    return {"files": len(sample), **rows}


def jedi_seconds(sample: list[Path], folder: Path) -> float | str:
    """Return how long jedi takes for all names of each file, with an empty cache."""
    if importlib.util.find_spec("jedi") is None:
        return "not installed (pip install jedi)"
    program = (
        "import sys, time, jedi\n"
        f"jedi.settings.cache_directory = {str(folder / 'jedi')!r}\n"
        "begin = time.perf_counter()\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        jedi.Script(path=path).get_names(all_scopes=True, definitions=True)\n"
        "    except UnicodeDecodeError:\n"
        "        pass\n"
        "print(time.perf_counter() - begin)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, sample)], capture_output=True, text=True, check=False
    )
    return float(done.stdout) if done.returncode == 0 else f"failed: {done.stderr.strip().splitlines()[-1]}"


def pyright_seconds(sample: list[Path], folder: Path) -> float | str:
    """Return how long pyright takes for the sample, its own start left out; it is looked for in $PYRIGHT and PATH."""
    program = os.environ.get("PYRIGHT") or shutil.which("pyright")
    if program is None:
        return "not installed (npm install pyright, then PYRIGHT=…/node_modules/.bin/pyright)"
    tree = folder / "sample"
    tree.mkdir()
    for position, file in enumerate(sample):
        shutil.copyfile(file, tree / f"m{position}.py")
    done = subprocess.run(
        [program, "--outputjson", "--pythonpath", sys.executable, str(tree)],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return float(json.loads(done.stdout)["summary"]["timeInSec"])
    except (ValueError, KeyError):
        return f"failed: {done.stderr.strip()[-100:]}"


if __name__ == "__main__":
    sys.exit(main())
