"""The benchmarks measure what they say, and can tell revisions apart."""
