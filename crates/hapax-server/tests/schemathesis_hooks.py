"""What Schemathesis cannot know: how a batch is written, and that nobody here has a minute to wait.

A batch is the page it made up, three times, one line each. A question for events that would wait is asked to
wait a second at most.
"""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_ctx, value):
    if isinstance(value, bytes):
        return value
    return (json.dumps(value) + "\n").encode("utf-8", "surrogatepass") * 3


@schemathesis.hook
def before_call(_ctx, case, _kwargs):
    wait = (case.query or {}).get("wait")
    # Numbers come as text, too.
    if str(wait).isdecimal() and 1 < int(str(wait)) <= 60:
        case.query["wait"] = 1
