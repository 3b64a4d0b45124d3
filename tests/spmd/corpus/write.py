"""Lays a job's lines out in files."""
import json
import os


def write(job, directory, with_groups=False):
    """Files below `directory`/logs; the true group of each line beside them, never among them."""
    logs = os.path.join(directory, "logs")
    files, groups, last = {}, {}, {}
    for line in job.book.printed():
        path = job.launcher.path(line)
        files.setdefault(path, []).append(job.launcher.wrap(line))
        groups.setdefault(path, []).append(line.statement)
        last[path] = line.time
    for path, lines in files.items():
        full = os.path.join(logs, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8", newline="\n") as file:
            file.write("\n".join(lines) + "\n")
        os.utime(full, ns=(int(last[path] * 1e9), int(last[path] * 1e9)))
    if with_groups:
        with open(os.path.join(directory, "groups.jsonl"), "w", encoding="utf-8") as file:
            for path in sorted(groups):
                for number, statement in enumerate(groups[path], 1):
                    json.dump({"file": path, "line": number, "group": statement}, file)
                    file.write("\n")
    return {path: len(lines) for path, lines in files.items()}
