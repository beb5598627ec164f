"""Makes the step record (`graphc.inspect.record`) of a compiled step: what the tracer, the passes and lowering know, as tables.

Everything is worked out when somebody asks for it; compiling keeps what would be lost otherwise, and no more.
"""
