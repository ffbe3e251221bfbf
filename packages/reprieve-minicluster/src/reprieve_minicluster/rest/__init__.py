"""The API server of the mini cluster: the Kubernetes API over HTTP."""
