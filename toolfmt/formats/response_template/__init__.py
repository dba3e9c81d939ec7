"""The `response_template` of a model's tokenizer_config.json, read as a format and written from one. The rest of
`formats` does not need this package.
"""
