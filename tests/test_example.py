"""The sample project is a real one: it imports, its checks pass, and its views answer."""

import subprocess
import sys
from pathlib import Path

SHOP = Path(__file__).parent.parent / "examples" / "shop"

USE_IT = """
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = ":memory:"
settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
django.setup()
from decimal import Decimal
from django.core import mail
from django.core.management import call_command
from django.test import Client
call_command("check", verbosity=0)
call_command("migrate", run_syncdb=True, verbosity=0)
from orders.models import Order, User
from orders.reports import monthly_turnover
user = User.objects.create(name="Ada", email="ada@example.com", loyalty_points=120)
order = Order.objects.create(user=user, total=Decimal(100))
answer = Client().get(f"/orders/process/?user_id={user.id}").json()
assert answer == {"status": "ok", "due": "95.00"}, answer
assert mail.outbox[0].to == ["ada@example.com"]
assert Client().get(f"/orders/of/{user.id}/").json()["orders"][0]["total"] == "100.00"
assert Client().get("/catalog/search/?q=x").json() == {"products": []}
assert monthly_turnover(Order.objects.all())[0].net == Decimal(95)
"""


def test_the_sample_runs_under_django() -> None:
    done = subprocess.run(
        [sys.executable, "-c", USE_IT],
        cwd=SHOP,
        env={"DJANGO_SETTINGS_MODULE": "shop.settings", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
