"""The model as one object. Only this package runs templates in worker processes."""
