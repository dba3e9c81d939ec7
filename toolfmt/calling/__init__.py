"""The application's side: tools that a model's calls reach, and the turns between the two.

`ToolRegistry` holds the tools and carries calls out, `run` asks a model and answers its calls until it is done.
"""
