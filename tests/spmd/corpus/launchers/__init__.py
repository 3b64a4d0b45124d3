"""Where each line goes, and what the launcher itself says."""
from .kubernetes import Kubernetes
from .mpirun import Mpirun
from .plain import Plain
from .ray import Ray
from .slurm import SlurmLabel, SlurmTasks
from .torchrun import Torchrun

TYPES = {"torchrun": Torchrun, "slurm_tasks": SlurmTasks, "slurm_label": SlurmLabel, "mpirun": Mpirun,
         "ray": Ray, "kubernetes": Kubernetes, "plain": Plain}


def make(job):
    return TYPES[job.plan.launcher](job)
