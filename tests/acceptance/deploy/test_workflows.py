"""The workflows for forks name what exists: make targets, files, matrix keys, Pythons and servers."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.deploy.compose_tools import ROOT
from tests.acceptance.deploy.test_metadata import PROJECT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.M))
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
FILE = re.compile(r"(?<![\w./-])((?:tests|scripts|docs|pgrecall)/[\w./-]+|constraints\.txt)")


def read(file: Path) -> dict[Any, Any]:
    document: dict[Any, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return document


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in WORKFLOWS:
        for name, job in read(file)["jobs"].items():
            yield f"{file.stem}.{name}", job


JOBS = dict(jobs())


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_begins_with_few_rights(file: Path) -> None:
    document = read(file)
    assert document["name"]
    assert document[True]  # `on`, which YAML 1.1 reads as true
    assert document["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_has_steps_of_known_form(name: str) -> None:
    job = JOBS[name]
    assert job["runs-on"] == "ubuntu-latest"
    assert 0 < job["timeout-minutes"] <= 60
    needed = job.get("needs", [])
    siblings = {other.split(".")[1] for other in JOBS if other.startswith(name.split(".")[0])}
    assert {needed} <= siblings if isinstance(needed, str) else set(needed) <= siblings
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
        assert step.keys() <= {"name", "uses", "run", "with", "env", "if"}, step
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"])


@pytest.mark.parametrize("name", JOBS)
def test_what_a_job_runs_exists(name: str) -> None:
    text = yaml.safe_dump(JOBS[name])
    scripts = [step["run"] for step in JOBS[name]["steps"] if "run" in step]
    for script in scripts:
        assert set(re.findall(r"\bmake ([a-z]+)", script)) <= TARGETS
        for found in FILE.findall(script):
            assert (ROOT / found).exists(), found
        for module in re.findall(r"python -m (scripts[\w.]*)", script):
            assert (ROOT / module.replace(".", "/")).exists()
        for folder in re.findall(r"\bclients/\w+", script):
            assert (ROOT / folder / "package.json").exists()
        if shutil.which("bash"):
            plain = EXPRESSION.sub("x", script)
            checked = subprocess.run(["bash", "-n"], input=plain, capture_output=True, text=True, check=False)
            assert checked.returncode == 0, checked.stderr
    matrix = JOBS[name].get("strategy", {}).get("matrix", {})
    keys = set(matrix) - {"include"} | {key for each in matrix.get("include", []) for key in each}
    for expression in EXPRESSION.findall(text):
        root, _, key = expression.partition(".")
        assert root in ("matrix", "github", "vars"), expression
        assert root != "matrix" or key in keys, expression


def test_every_python_and_postgres_that_we_promise_is_tested() -> None:
    included = JOBS["ci.test"]["strategy"]["matrix"]["include"]
    promised = [each for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    pythons = {each.rpartition(" ")[2] for each in promised}
    assert {each["python"] for each in included} == pythons
    assert set(JOBS["ci.embedded"]["strategy"]["matrix"]["python"]) == pythons
    assert {each["postgres"] for each in included} == {"16", "17", "18"}
    server = JOBS["ci.test"]["services"]["postgres"]
    assert server["image"].startswith("pgvector/pgvector:pg")
    assert server["env"] == {"POSTGRES_HOST_AUTH_METHOD": "trust"}  # tests log in as roles they create


def test_the_tests_read_the_server_that_the_workflow_names() -> None:
    [name] = JOBS["ci.test"]["env"]
    assert any(name in file.read_text(encoding="utf-8") for file in (ROOT / "tests").glob("*.py"))


def test_dependabot_watches_what_there_is() -> None:
    document = read(ROOT / ".github" / "dependabot.yml")
    assert document["version"] == 2
    watched = {update["package-ecosystem"]: update["directory"] for update in document["updates"]}
    assert watched == {"pip": "/", "docker": "/", "github-actions": "/", "npm": "/clients/typescript"}
    assert (ROOT / "clients/typescript/package-lock.json").exists()
    assert (ROOT / "pyproject.toml").exists()
    assert (ROOT / "Dockerfile").exists()
