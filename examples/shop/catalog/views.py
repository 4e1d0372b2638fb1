"""The views of the catalog."""

from django.http import HttpRequest, JsonResponse

from .models import Product


def search(request: HttpRequest) -> JsonResponse:
    words = request.GET.get("q", "")
    products = Product.objects.filter(title__icontains=words).order_by("title")[:20]
    return JsonResponse({"products": [{"sku": product.sku, "title": product.title} for product in products]})
