"""Figures over many orders; nothing here has to do with a single view."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from .models import Order


@dataclass(frozen=True)
class Turnover:
    month: str
    orders: int
    gross: Decimal
    discounts: Decimal

    @property
    def net(self) -> Decimal:
        return self.gross - self.discounts


def monthly_turnover(orders: Iterable[Order]) -> list[Turnover]:
    """Sum orders by the month in which they were made, the newest month first."""
    months: dict[str, list[Order]] = {}
    for order in orders:
        months.setdefault(order.created_at.strftime("%Y-%m"), []).append(order)
    return [
        Turnover(
            month,
            len(group),
            sum((order.total for order in group), Decimal(0)),
            sum((order.discount for order in group), Decimal(0)),
        )
        for month, group in sorted(months.items(), reverse=True)
    ]
