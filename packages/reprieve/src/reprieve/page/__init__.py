"""The page that shows a cluster, its decisions and their history in a browser."""
