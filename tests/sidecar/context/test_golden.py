"""The prompts of hand-made files, whole, as the model reads them. TIERCEL_UPDATE_GOLDEN=1 writes them anew."""

import os
from pathlib import Path
from typing import Any

import pytest

from tiercel.context.prompt import Prompt, build
from tiercel.index.workspace import Index
from tiercel.inference.default_model import default_model_dir
from tiercel.inference.tokenize import TextTokens

GOLDEN = Path(__file__).parent.parent.parent / "data" / "context"
SHOP = Path(__file__).parent.parent.parent.parent / "examples" / "shop"
CURSOR = "█"


@pytest.fixture(scope="session")
def tokens() -> TextTokens:
    from tokenizers import Tokenizer

    return TextTokens(Tokenizer.from_file(str(default_model_dir() / "tokenizer.json")))


MODELS = '''
"""The models."""
from dataclasses import dataclass

LIMIT = 500
RATES = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10, "k": 11}


@dataclass
class Item:
    """One thing in a basket."""

    name: str
    price: float = 0.0
    _secret: int = 0

    @property
    def label(self) -> str:
        return f"{self.name} at {self.price}"

    def reduce(self, rate: float = 0.1) -> "Item":
        """Make it cheaper."""
        price = self.price * (1 - rate)
        return Item(self.name, price)


class Basket(list[Item]):
    def __init__(self, owner: str) -> None:
        super().__init__()
        self.owner = owner

    def total(self) -> float:
        amount = sum(item.price for item in self)
        return amount


def load(path: str, *, strict: bool = True) -> Basket:
    """Read a basket.

    Nothing of this second paragraph is told.
    """
    secret_body = path
    return Basket(secret_body)
'''

HEAD = "from models import Basket, Item, load, LIMIT\n\n\n"

# name: the file with the cursor, and the files beside models.py
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "function": (HEAD + "def show(path: str) -> str:\n    basket = load(path)\n    basket.█\n", {}),
    "method": (
        "from models import Item\n\n\nclass Till:\n    open: bool = False\n\n    def __init__(self, name: str) -> None:\n"
        "        self.name = name\n        self.items: list[Item] = []\n\n    def other(self) -> None:\n        pass\n\n"
        "    def add(self, item: Item) -> None:\n        self.items.append(item)\n        if item.█\n",
        {},
    ),
    "nested function": (
        HEAD + "def outer(item: Item):\n    rate = 2\n\n    def inner(basket: Basket):\n        return basket.█\n    return inner\n",
        {},
    ),
    "async": (HEAD + "async def fetch(item: Item) -> None:\n    async with session() as s:\n        await s.post(item.█)\n", {}),
    "decorators": (
        "from functools import wraps\n\nfrom models import load\n\n\ndef cached(f):\n    @wraps(f)\n    def g(*a):\n"
        "        return f(*a)\n    return g\n\n\n@cached\n@other(\n    1,\n)\ndef show(path):\n    return load(█)\n",
        {},
    ),
    "star import": ("from models import *\n\n\ndef f(item: Item):\n    item.█\n", {}),
    "re-export": (
        "from shop import Item\n\n\ndef f():\n    item = Item(█\n",
        {"shop/__init__.py": "from .things import Item\n", "shop/things.py": "from models import Item\n"},
    ),
    "cycle": (
        "from a import A\n\n\nclass B:\n    a: A\n\n    def f(self):\n        self.a.█\n",
        {"a.py": "from main import B\n\n\nclass A:\n    b: B\n    size: int = 1\n"},
    ),
    "missing import": ("from nowhere import gone\n\n\ndef f():\n    x = gone.thing(█\n", {}),
    "overloads": (
        "from o import pick\n\n\ndef f():\n    return pick(█\n",
        {
            "o.py": "from typing import overload\n\n\n@overload\ndef pick(x: int) -> int: ...\n@overload\n"
            "def pick(x: str) -> str: ...\ndef pick(x):\n    return x\n"
        },
    ),
    "old version in comments": (
        HEAD + "# def show(path):\n#     basket = load(path)\n#     return basket.owner\ndef show(path):\n    return █\n",
        {},
    ),
    "tabs": (HEAD + "def show(path):\n\tbasket = load(path)\n\tif basket.owner:\n\t\treturn █\n", {}),
    "CRLF": ((HEAD + "def show(path: str) -> str:\n    basket = load(path)\n    basket.█\n").replace("\n", "\r\n"), {}),
    "emoji": (HEAD + "def show(item: Item):\n    s = '😀😀'; item.█\n", {}),
    "module level": (HEAD + "basket = load('a')\nfor item in basket:\n    print(item.█)\n", {}),
    "class body": ("from models import Item\n\n\nclass Special(Item):\n    colour: str\n    █\n\n    def f(self): ...\n", {}),
    "constant": (HEAD + "import models\n\n\ndef f(x):\n    if x > LIMIT and models.RATES[x] > █:\n        pass\n", {}),
    "aliases": ("import models as m\nfrom models import load as read\n\n\ndef f():\n    return read(m.Item(█))\n", {}),
    "half-typed name": (HEAD + "def f(path):\n    return lo█\n", {}),
    "after the cursor": (HEAD + "def f(path):\n    x = █\n    item = Item(path)\n    return item.label\n\n\ndef g():\n    pass\n", {}),
    "broken": ("import a\n\n) = = 1 [\n  x ==== █\n  y = (((\n", {}),
    "a long function": (
        HEAD + "def f(item: Item):\n" + "".join(f"    value_{n} = item.price * {n}\n" for n in range(120)) + "    item.█\n",
        {},
    ),
}  # fmt: skip


def make(folder: Path, tokens: TextTokens, case: str, **options: Any) -> Prompt:
    marked, files = CASES[case]
    for name, text in {"models.py": MODELS, **files}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return prompt_of(folder, folder / "main.py", marked, tokens, **options)


def prompt_of(folder: Path, path: Path, marked: str, tokens: TextTokens, **options: Any) -> Prompt:
    text, offset = marked.replace(CURSOR, "", 1), marked.index(CURSOR)
    path.write_text(text, newline="")
    index = Index([folder])
    index.scan()
    index.open(str(path), text)
    return build(index, str(path), text, offset, options.pop("budget", 600), tokens, **options)


def compare(name: str, prompt: Prompt) -> None:
    """Compare with the golden file: the prompt, and the account without paths of this machine."""
    told = [f"{part.tokens} {part.kind} {part.name} (line {part.line + 1}): {part.why}" for part in prompt.parts]
    told += [f"- {one.name}: {one.why}" for one in prompt.left_out]
    text = "\n".join([prompt.prefix + CURSOR, "", "=" * 20, *told, ""])
    file = GOLDEN / f"{name.replace(' ', '_')}.txt"
    if os.environ.get("TIERCEL_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str, tmp_path: Path, tokens: TextTokens) -> None:
    prompt = make(tmp_path, tokens, case)
    compare(case, prompt)
    assert tokens.count(prompt.prefix) <= 620
    assert "secret_body" not in prompt.prefix or case == "function"


def test_the_sample_view(tmp_path: Path, tokens: TextTokens) -> None:
    for file in SHOP.rglob("*.py"):
        target = tmp_path / file.relative_to(SHOP)
        target.parent.mkdir(exist_ok=True, parents=True)
        target.write_bytes(file.read_bytes())
    path = tmp_path / "orders" / "views.py"
    marked = path.read_text().replace("    order.save()\n", "    order.save()\n    order.█\n", 1)
    prompt = prompt_of(tmp_path, path, marked, tokens, fill=False)
    for wanted in (
        "def process_order(request",
        "def calculate_discount(total: Decimal",
        "def send_notification(message",
    ):
        assert wanted in prompt.prefix
    for field in ("user", "total", "discount", "status", "created_at"):
        assert f"    {field} = models." in prompt.prefix
    assert "send_mail" not in prompt.prefix
    assert "# Context: function process_order, param request is HttpRequest instance, order is Order" in prompt.prefix
    drawn_from = {part.path for part in prompt.parts}
    whole = sum(tokens.count(Path(file).read_text()) for file in drawn_from)
    assert tokens.count(prompt.prefix) <= 0.2 * whole


@pytest.mark.parametrize("case", ["function", "method", "tabs"])
def test_line_ends_do_not_matter(case: str, tmp_path: Path, tokens: TextTokens) -> None:
    marked = CASES[case][0]
    (tmp_path / "models.py").write_text(MODELS)
    texts = [
        prompt_of(tmp_path, tmp_path / "main.py", marked.replace("\n", end), tokens) for end in ("\n", "\r\n", "\r")
    ]
    assert len({prompt.prefix for prompt in texts}) == 1
