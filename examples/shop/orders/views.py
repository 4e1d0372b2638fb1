"""The views of the orders."""

from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404

from .models import Order, User
from .utils import calculate_discount, send_notification


def process_order(request: HttpRequest) -> JsonResponse:
    user_id = request.GET.get("user_id")
    order = Order.objects.filter(user_id=user_id).latest("created_at")
    discount = calculate_discount(order.total, order.user_id)
    order.discount = discount
    order.save()
    send_notification(f"Order {order.id} processed", order.user.email)
    return JsonResponse({"status": "ok", "due": str(order.amount_due())})


def list_orders(request: HttpRequest, user_id: int) -> JsonResponse:
    user = get_object_or_404(User, id=user_id)
    orders = [{"id": order.id, "total": str(order.total), "status": order.status} for order in user.orders.all()]
    return JsonResponse({"user": user.name, "orders": orders})
