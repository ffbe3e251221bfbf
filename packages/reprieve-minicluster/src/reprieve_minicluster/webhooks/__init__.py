"""Webhooks and policies that clients register: which requests they concern, and what follows from them."""
