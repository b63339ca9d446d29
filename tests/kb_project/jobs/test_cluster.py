"""What a worker does when nothing goes wrong; the pipeline's ``test_kill`` has the rest."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest
from django.core.management import CommandError, call_command
from django.utils.module_loading import import_string
from django_q.conf import Conf

from kb_project.jobs import cluster
from kb_project.management.commands.worker import lanes


@pytest.fixture
def served(settings, monkeypatch) -> dict[str, int]:
    """The number of processes that each lane was served with."""
    found: dict[str, int] = {}
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, "workers": 3}
    monkeypatch.setattr(
        cluster, "work", lambda lane, *, processes, **_: found.update({lane: processes})
    )
    return found


def test_the_main_lane_has_as_many_processes_as_settings_say(served):
    call_command("worker")

    assert served == {"main": 3}


def test_the_embedding_lane_has_one_process(served):
    call_command("worker", "--lane", "embedding")

    assert served == {"embedding": 1}


@pytest.mark.parametrize("lane", ["main", "embedding", "answering"])
def test_every_lane_is_served_by_a_function(lane):
    assert callable(import_string(lanes()[lane]))


def test_the_lanes_share_one_signature():
    # What one signs the other must be able to read.
    assert Conf.PREFIX == "concordance"


def test_an_unknown_lane_is_refused_with_those_there_are():
    with pytest.raises(CommandError, match="embedding"):
        call_command("worker", "--lane", "scenic")


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_a_process_lives_until_it_ends_even_if_nobody_has_waited_for_it():
    child = sleeper()
    process = psutil.Process(child.pid)
    lived = cluster._lives(process)

    child.kill()
    _until_it_is_dead(process)

    assert (lived, cluster._lives(process)) == (True, False)
    child.wait()


def _until_it_is_dead(process: psutil.Process) -> None:
    """A killed child that its parent has not waited for stays in the list, dead."""
    while process.status() != psutil.STATUS_ZOMBIE:
        pass


def test_a_sentinel_that_is_gone_has_no_family():
    child = sleeper()
    child.kill()
    child.wait()

    assert cluster._family(SimpleNamespace(sentinel=SimpleNamespace(pid=child.pid))) == []


def test_a_family_is_the_sentinel_and_its_children():
    script = (
        "import subprocess, sys, time;"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print('ready', flush=True); time.sleep(60)"
    )
    sentinel = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert sentinel.stdout is not None
    sentinel.stdout.readline()

    family = cluster._family(SimpleNamespace(sentinel=SimpleNamespace(pid=sentinel.pid)))

    assert [process.pid == sentinel.pid for process in family] == [True, False]
    for process in family:
        process.kill()
    sentinel.wait()
    sentinel.stdout.close()
