"""What every room stands on: errors, threads, memory, processes, and files that are whole or not there."""
