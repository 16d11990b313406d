"""Teaches Schemathesis to write a batch: the page it made up, three times, one line each."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_ctx, value):
    if isinstance(value, bytes):
        return value
    return (json.dumps(value) + "\n").encode("utf-8", "surrogatepass") * 3
