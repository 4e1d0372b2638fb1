"""What can be bought."""

from django.db import models


class Product(models.Model):
    sku = models.CharField(max_length=20, unique=True)
    title = models.CharField(max_length=200)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    stock = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return self.title

    def reserve(self, count: int) -> bool:
        """Take `count` pieces out of the stock, if there are so many."""
        if count > self.stock:
            return False
        self.stock -= count
        self.save(update_fields=["stock"])
        return True
