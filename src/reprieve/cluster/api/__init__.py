"""What every side knows of the Kubernetes API."""
