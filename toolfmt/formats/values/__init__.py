"""Parse and write the values of arguments, in the syntaxes that formats use."""
