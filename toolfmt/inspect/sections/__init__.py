"""The sections of a report. Each probes one aspect of the template and is independent of the others."""
