"""Check a running server: send it a short series of requests with tools, and explain what its responses get wrong.

`toolfmt doctor` uses this package. `probes` is the series. A protocol of `protocols` writes its requests and reads the
responses as a `ServerResponse`. `checks` finds the problems in a response, and `examination` runs the series within
its limits. `explanations` adds what a problem means and how to fix it. Nothing here prints.
"""
