"""Load the engines whose machine code is in files, for a process that cannot open files later."""

from toolfmt.inspect.sections.engines.llama_cpp_engine import llama_cpp_engine

llama_cpp_engine()
