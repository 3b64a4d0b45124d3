"""The kinds of jobs, by label."""
from . import (desync, exception, gpu, hang, healthy, killed, lookalike, preemption, restart, slow, start, storage,
               timeouts, values)

KINDS = {}
for module in (exception, killed, gpu, timeouts, hang, values, slow, storage, start, preemption, restart, desync,
               healthy, lookalike):
    KINDS.update(module.LABELS)

# Kept out of tuning: whoever works on triage does not look at these; the scorer reports them apart.
HELD_OUT = ("segfault", "nvlink")
# Of a mixed set 30 % are healthy, half of these with look-alikes.
HEALTHY_SHARE = {"healthy": 0.15, "lookalike": 0.15}
