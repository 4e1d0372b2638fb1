from django.urls import path

from . import views

urlpatterns = [
    path("process/", views.process_order, name="process_order"),
    path("of/<int:user_id>/", views.list_orders, name="list_orders"),
]
