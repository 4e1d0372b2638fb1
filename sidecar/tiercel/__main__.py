"""The command line: `python -m tiercel COMMAND`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from . import __version__
from .settings import Settings


class UsageError(Exception):
    """What was asked for cannot be done as it was said; the message says how to say it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code: 0 done, 1 something is wrong, 2 wrong usage."""
    options, rest = _parser().parse_known_args(argv)
    if rest and options.run is not _index_command:
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    options.rest = rest
    logging.basicConfig(
        stream=sys.stderr, level=options.log_level.upper(), format="%(levelname)s %(name)s: %(message)s", force=True
    )
    try:
        code: int = options.run(options)
    except UsageError as error:
        print(f"tiercel: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever reads this has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tiercel", description=__doc__)
    parser.add_argument("--version", action="version", version=f"tiercel {__version__}")
    parser.add_argument("--log-level", default="warning", choices=["debug", "info", "warning", "error"])
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="answer an editor over stdin and stdout")
    serve.set_defaults(run=_serve)

    complete = commands.add_parser("complete", help="complete at a place in a file")
    complete.add_argument("place", metavar="FILE:LINE:COL", help="1-based, as editors show them")
    complete.add_argument("--json", action="store_true", help="print one object when it is done")
    complete.add_argument("--model", default="", help="a model directory or hub id instead of the default model")
    complete.set_defaults(run=_complete)

    context = commands.add_parser("context", help="say what the model would read at a place in a file, and why")
    context.add_argument("place", metavar="FILE:LINE:COL", help="1-based, as editors show them")
    context.add_argument("--json", action="store_true", help="print one object")
    context.set_defaults(run=_context)

    # These two have options of their own; what follows their names is theirs.
    for name, help_text in (
        ("index", "index a folder and say what it came to"),
        ("where", "say where a place is and what its names mean"),
    ):
        commands.add_parser(name, help=help_text, add_help=False).set_defaults(run=_index_command, name=name)

    doctor = commands.add_parser("doctor", help="say what is set up, what is wrong and how to mend it")
    doctor.add_argument("folder", nargs="?", type=Path, help="also index this folder and tell what does not parse")
    doctor.set_defaults(run=_doctor)
    return parser


def _serve(_options: argparse.Namespace) -> int:
    from .server import serve

    return serve()


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import examine, examine_folder

    findings = examine()
    if options.folder is not None:
        if not options.folder.is_dir():
            raise UsageError(f"{options.folder} is no folder")
        findings += examine_folder(options.folder)
    for finding in findings:
        print(finding)
    return 0 if all(finding.ok for finding in findings) else 1


def _index_command(options: argparse.Namespace) -> int:
    from .index.cli import index_command, where_command

    return {"index": index_command, "where": where_command}[options.name](options.rest)


def _context(options: argparse.Namespace) -> int:
    from tokenizers import Tokenizer

    from .context.explain import explain
    from .context.prompt import build
    from .index.workspace import Index
    from .inference.default_model import DefaultModelError, ensure_default_model
    from .inference.tokenize import TextTokens

    path, text, offset = place(options.place)
    path = path.resolve()
    settings = Settings()
    try:
        tokens = TextTokens(Tokenizer.from_file(str(ensure_default_model() / "tokenizer.json")))
    except DefaultModelError as error:
        print(f"tiercel: {error}", file=sys.stderr)
        return 1
    index = Index([workspace_of(path)], settings.index)
    index.open(str(path), text)
    prompt = build(index, str(path), text, offset, settings.completion.prompt_tokens, tokens)
    account = explain(index, prompt, tokens)
    print(msgspec.json.encode(account).decode() if options.json else account)
    return 0


def _complete(options: argparse.Namespace) -> int:
    from .context.order import Slots
    from .documents import Document
    from .engine import Request, Update, complete
    from .index.workspace import Index
    from .inference.default_model import DefaultModelError
    from .inference.generate import Generator
    from .inference.load import LoadError, load

    path, text, offset = place(options.place)
    settings = Settings()
    if options.model:
        settings = msgspec.structs.replace(settings, model=msgspec.structs.replace(settings.model, path=options.model))
    try:
        generator = Generator(load(settings.model, lambda percent, what: None))
    except (DefaultModelError, LoadError) as error:
        print(f"tiercel: {error}", file=sys.stderr)
        return 1
    path = path.resolve()
    document = Document(path.as_uri(), 0, text)
    index = Index([workspace_of(path)], settings.index)
    index.open(str(path), text)
    request = Request(document.uri, str(path), text, offset, document.newline)
    shown = ""
    last = Update("", done=True)
    for last in complete(request, index, Slots(), generator, settings, lambda: False):
        if not options.json and last.text.startswith(shown):
            print(last.text[len(shown) :], end="", flush=True)
            shown = last.text
    if options.json:
        print(msgspec.json.encode({"text": last.text, "stats": last.stats}).decode())
    else:
        print()
    return 0


def place(given: str) -> tuple[Path, str, int]:
    """Return the file of a FILE:LINE:COL, its text, and the offset of the place in code points.

    Raises UsageError if the file cannot be read or has no such place.
    """
    from .documents import Document

    parts = given.rsplit(":", 2)
    if len(parts) != 3 or not (parts[1].isdigit() and parts[2].isdigit()):
        raise UsageError(f"{given!r} is no place: give FILE:LINE:COL, such as app.py:12:5")
    path, line, column = Path(parts[0]), int(parts[1]), int(parts[2])
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from error
    starts = Document("", 0, text).line_starts
    if not 1 <= line <= len(starts):
        raise UsageError(f"{path} has {len(starts)} lines; there is no line {line}")
    end = len(text) if line == len(starts) else starts[line]
    width = len(text[starts[line - 1] : end].rstrip("\r\n"))
    if not 1 <= column <= width + 1:
        raise UsageError(f"line {line} of {path} has the columns 1 to {width + 1}; there is no column {column}")
    return path, text, starts[line - 1] + column - 1


def workspace_of(path: Path) -> Path:
    """Return the folder that an editor would have open for a file: the nearest above it that a project begins in."""
    marks = (".git", "pyproject.toml", "setup.py", "setup.cfg", "manage.py", ".vscode")
    return next((folder for folder in path.parents if any((folder / mark).exists() for mark in marks)), path.parent)


if __name__ == "__main__":
    sys.exit(main())
