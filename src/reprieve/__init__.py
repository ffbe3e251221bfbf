"""Reprieve: a Kubernetes scheduler that makes room by disturbing as few as it can."""
