"""The front of the mini cluster that Kubernetes clients speak to over HTTP."""
