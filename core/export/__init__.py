"""What a run can be taken away as: files for other programs, made of a Trace alone."""
