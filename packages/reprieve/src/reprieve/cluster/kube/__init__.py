"""A real Kubernetes API server as the port, over HTTP."""
