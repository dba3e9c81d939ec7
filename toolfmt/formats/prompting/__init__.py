"""How tools are described in a prompt, and the example calls in such a description."""
