"""The side of a real Kubernetes API server, spoken to over HTTP."""
