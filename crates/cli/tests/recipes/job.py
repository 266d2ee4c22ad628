"""Runs the shell steps of a job of GitHub Actions or GitLab in order, as their runners do.

    job.py github|gitlab FILE all|installed [NAME=VALUE ...]

`installed` leaves out what installs the package. Prints what it runs, checks that what the job
keeps is there and can be read, and ends with the status of the first step that failed.
"""

import glob
import json
import os
import subprocess
import sys
import xml.etree.ElementTree

import yaml


def run(name, shell, script, variables):
    print(f"== {name}", flush=True)
    status = subprocess.run([*shell, script], env={**os.environ, **variables}).returncode
    print(f"== {name}: status {status}", flush=True)
    return status


def kept(pattern):
    """The files that a path or pattern of a job names."""
    files = [file for path in glob.glob(pattern) for file in [path, *glob.glob(path + "/*")]]
    files = [file for file in files if os.path.isfile(file)]
    assert files, f"there is nothing at {pattern}"
    return files


def read_reports(pattern, ending, read):
    files = [file for file in kept(pattern) if file.endswith(ending)]
    assert files, f"there is no {ending} at {pattern}"
    for file in files:
        with open(file, encoding="utf-8") as text:
            read(text)
        print(f"== kept: {file}", flush=True)


def github(job, chosen, given):
    variables = {"GITHUB_ACTIONS": "true", **job["env"], **given}
    assert job["container"] == "debian:12" and job["runs-on"]
    status = 0
    for step in job["steps"]:
        if status != 0 and step.get("if") != "always()":
            continue
        if "run" in step:
            # Jobs in a container without bash run their steps with `sh -e`.
            if chosen == "all" or step["name"] != "Install":
                status = run(step["name"], ["sh", "-e", "-c"], step["run"], variables) or status
        elif step["uses"].startswith("github/codeql-action/upload-sarif@"):
            read_reports(step["with"]["sarif_file"], ".sarif", json.load)
        elif step["uses"].startswith("actions/upload-artifact@"):
            kept(step["with"]["path"])
        else:
            assert step["uses"].startswith("actions/checkout@"), step
    return status


def gitlab(job, chosen, given):
    variables = {**job["variables"], **given}
    assert job["image"] == "debian:12"
    lines = job["script"] if chosen == "installed" else job["before_script"] + job["script"]
    # One shell for all lines, which ends at the first that fails.
    status = run("script", ["bash", "-eo", "pipefail", "-c"], "\n".join(lines), variables)
    assert job["artifacts"]["when"] == "always"
    for path in job["artifacts"]["paths"]:
        kept(path)
    read_reports(job["artifacts"]["reports"]["junit"], ".xml", xml.etree.ElementTree.parse)
    return status


def main():
    kind, file, chosen, *assignments = sys.argv[1:]
    assert chosen in ("all", "installed"), chosen
    given = dict(assignment.split("=", 1) for assignment in assignments)
    with open(file, encoding="utf-8") as text:
        document = yaml.safe_load(text)
    if kind == "github":
        # YAML 1.1 takes `on` for a truth value.
        assert set(document) == {"name", True, "permissions", "jobs"}, set(document)
        status = github(document["jobs"]["foretrace"], chosen, given)
    else:
        assert set(document) == {"foretrace"}, set(document)
        status = gitlab(document["foretrace"], chosen, given)
    sys.exit(status)


main()
