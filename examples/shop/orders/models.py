"""Who buys, and what they have ordered."""

from __future__ import annotations

from decimal import Decimal

from django.db import models


class User(models.Model):
    name = models.CharField(max_length=100)
    email = models.EmailField(unique=True)
    loyalty_points = models.IntegerField(default=0)
    joined_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_loyal(self) -> bool:
        return self.loyalty_points >= 100


class Order(models.Model):
    class Status(models.TextChoices):
        NEW = "new", "new"
        PAID = "paid", "paid"
        SHIPPED = "shipped", "shipped"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="orders")
    total = models.DecimalField(max_digits=10, decimal_places=2)
    discount = models.DecimalField(max_digits=10, decimal_places=2, default=Decimal(0))
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.NEW)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"order {self.pk} of {self.user}"

    def amount_due(self) -> Decimal:
        return self.total - self.discount

    def mark_paid(self) -> None:
        self.status = self.Status.PAID
        self.save(update_fields=["status"])
