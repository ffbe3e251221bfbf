"""Other formats of traces, each read into jobs; what a format does not say is named as invented."""
