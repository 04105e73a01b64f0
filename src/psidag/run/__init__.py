"""The only loop, with what it keeps: the task, the status, the trace, the budgets, the checkpoint."""
