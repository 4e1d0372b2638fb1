"""The command line, as a person types it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
VIEWS = ROOT / "examples" / "shop" / "orders" / "views.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "sidecar"), "PYTHONUTF8": "1"}


def tiercel(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "tiercel", *arguments]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def test_complete_prints_the_completion_and_its_cost() -> None:
    done = tiercel("complete", "--json", f"{VIEWS}:13:29")
    answer = json.loads(done.stdout)
    assert "\n" not in answer["text"]
    assert answer["stats"]["newTokens"] > 0
    assert answer["stats"]["prefillMs"] > 0
    plain = tiercel("complete", f"{VIEWS}:13:29")
    assert plain.stdout == answer["text"] + "\n"


def test_context_tells_each_part_and_why() -> None:
    answer = json.loads(tiercel("context", "--json", f"{VIEWS}:15:11").stdout)
    parts = {(part["kind"], part["name"]): part for part in answer["parts"]}
    assert parts["interface", "Order"]["why"] == "order is its instance"
    assert answer["tokens"] < answer["fileTokens" if "fileTokens" in answer else "file_tokens"]
    assert "def process_order" in answer["prefix"]


def test_where_and_index_answer() -> None:
    where = json.loads(tiercel("where", "--json", f"{VIEWS}:13:20").stdout)
    assert where["scope"][0]["name"] == "process_order"
    assert where["names"]["calculate_discount"][0]["kind"] == "function"
    index = json.loads(tiercel("index", "--json", "--no-cache", str(VIEWS.parent)).stdout)
    assert index["files"] == len(list(VIEWS.parent.rglob("*.py")))


def test_doctor_says_what_is_there_and_what_does_not_parse(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\n\n\ndef f(:\n    pass\n")
    done = tiercel("doctor", str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "default model" in done.stdout
    assert f"{tmp_path / 'broken.py'}:4 does not parse" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["complete", "nowhere.py"], "is no place"),
        (["complete", "nowhere.py:1:1"], "cannot be read"),
        (["complete", f"{VIEWS}:9999:1"], "there is no line 9999"),
        (["complete", f"{VIEWS}:1:999"], "there is no column 999"),
        (["doctor", "/no/such/folder"], "is no folder"),
        (["complete", "--model", "/no/such/model", f"{VIEWS}:1:1"], "no directory and no hub id"),
        (["complete", "--wrong", f"{VIEWS}:1:1"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_says_what_to_do(arguments: list[str], message: str) -> None:
    done = tiercel(*arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
