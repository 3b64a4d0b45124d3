"""The kernel's words, without the stamp."""


def xid(plan, rank, number, pid, text):
    return f"NVRM: Xid (PCI:0000:{plan.bus(rank)}:00): {number}, pid={pid}, name=python3, {text}"


def fallen(plan, rank, pid):
    return xid(plan, rank, 79, pid, "GPU has fallen off the bus.")


def contained(plan, rank, pid):
    return xid(plan, rank, 94, pid, "Contained: SM (0x1). RST: No, D-RST: No")


def mmu_fault(plan, rank, pid):
    return xid(plan, rank, 31, pid, "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_8 faulted @ "
               "0x73ac_1c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE")


def nvlink(plan, rank, pid, link):
    return xid(plan, rank, 74, pid, f"NVLink: fatal error detected on link {link}(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)")


def sxid(switch, link):
    return (f"nvidia-nvswitch{switch}: SXid (PCI:0000:84:00.0): 22013, Fatal, Link {link:02d} Minion Link DLREQ "
            "interrupt")


def oom(rng, pid):
    total = rng.randrange(60_000_000, 900_000_000)
    return ["python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job,mems_allowed=0-1,"
            f"oom_memcg=/slurm/job,task_memcg=/slurm/job/step_0,task=python3,pid={pid},uid=1000",
            f"Memory cgroup out of memory: Killed process {pid} (python3) total-vm:{total}kB, "
            f"anon-rss:{int(total * 0.7)}kB, file-rss:52176kB, shmem-rss:92kB, UID:1000 pgtables:1372kB "
            "oom_score_adj:0"]


# (statement, text) of a kernel that has nothing to say about the job
NOISE = [("kernel.noise.ena", "ena 0000:00:05.0 ens5: NIC Link is Up"),
         ("kernel.noise.hogged", "workqueue: ib_cache_event_task [ib_core] hogged CPU for >10000us {n} times, "
                                 "consider switching to WQ_UNBOUND"),
         ("kernel.noise.perf", "perf: interrupt took too long ({n} > 2500), lowering "
                               "kernel.perf_event_max_sample_rate to 79750"),
         ("kernel.noise.audit", "audit: type=1400 audit(1772600{n}.123:{n}): apparmor=\"STATUS\""),
         ("kernel.noise.docker", "docker0: port {n}(veth3f9c01d) entered forwarding state"),
         ("kernel.noise.nvidia", "nvidia-nvlink: Nvlink Core is being initialized, major device number 5{n}")]
