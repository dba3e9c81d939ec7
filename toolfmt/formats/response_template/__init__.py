"""The `response_template` of a model's tokenizer_config.json: read one as a format, and write one for a format.

The rest of `formats` does not need this package.
"""
