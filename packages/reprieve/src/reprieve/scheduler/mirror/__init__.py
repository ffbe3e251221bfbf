"""The cluster as the scheduler sees it, in columns: what it shows, with what the ledger promises."""
