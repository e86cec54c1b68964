"""One file for each format of traces; core/workloads/reading.py scans this folder."""
