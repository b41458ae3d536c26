"""Stations 1 and 2: takes OTLP over gRPC and HTTP, checks it, writes it to the journal, and only then acknowledges it."""
