"""Locks its own process up, then executes one program. Knows the operating system; refuses to know what the program is for.

`sdiff.tasks.sandbox` starts this file as a script in a fresh interpreter; nothing here is undone before that process ends. The layers:

  limits      (Linux, macOS) address space, processor time, file size, open files. macOS does not enforce the address space.
  audit hook  (everywhere) Python refuses to open files outside the Python library and the working folder, and refuses sockets,
              processes, signals and ctypes. It stops honest Python, not code that breaks into the interpreter.
  Landlock    (Linux ≥ 5.13) the kernel refuses the same files, whatever code asks.
  seccomp     (Linux on x86-64 and ARM64) the kernel allows only the listed calls: no socket, no new process, no signal, no folder.

Without seccomp a limit of no further processes and threads stands in for it; it does not bind root. On macOS the audit hook is all that
guards files and the network. Left on every system: the program can see its own frames, so a secret inside its text is no secret to it.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable
from types import ModuleType

READY = b"\n"  # the first byte on standard output: locked up, the program begins
NAME = "program.py"

# What Python needs to compute and to use files in its folder, and no more. Numbers: Linux, arch/x86/entry/syscalls/syscall_64.tbl and
# include/uapi/asm-generic/unistd.h. `clone` and `fcntl` are allowed in part only, see `filter_of`.
CALLS = {
    "x86_64": (0xC000003E, """
        read=0 write=1 open=2 close=3 stat=4 fstat=5 lstat=6 poll=7 lseek=8 mmap=9 mprotect=10 munmap=11 brk=12 rt_sigaction=13
        rt_sigprocmask=14 rt_sigreturn=15 pread64=17 pwrite64=18 readv=19 writev=20 access=21 pipe=22 select=23 sched_yield=24 mremap=25
        madvise=28 dup=32 dup2=33 nanosleep=35 getitimer=36 alarm=37 setitimer=38 getpid=39 exit=60 uname=63 fsync=74 fdatasync=75
        truncate=76 ftruncate=77 getcwd=79 chdir=80 rename=82 unlink=87 readlink=89 gettimeofday=96 getrlimit=97 getrusage=98 sysinfo=99
        times=100 getuid=102 getgid=104 geteuid=107 getegid=108 getppid=110 sigaltstack=131 gettid=186 time=201 futex=202
        sched_getaffinity=204 getdents64=217 restart_syscall=219 clock_gettime=228 clock_getres=229 clock_nanosleep=230 exit_group=231
        openat=257 newfstatat=262 unlinkat=263 renameat=264 readlinkat=267 faccessat=269 pselect6=270 ppoll=271 set_robust_list=273
        dup3=292 pipe2=293 renameat2=316 getrandom=318 membarrier=324 statx=332 rseq=334 faccessat2=439
        clone=56 fcntl=72 clone3=435"""),
    "aarch64": (0xC00000B7, """
        getcwd=17 dup=23 dup3=24 unlinkat=35 renameat=38 truncate=45 ftruncate=46 faccessat=48 chdir=49 openat=56 close=57 pipe2=59
        getdents64=61 lseek=62 read=63 write=64 readv=65 writev=66 pread64=67 pwrite64=68 pselect6=72 ppoll=73 readlinkat=78 newfstatat=79
        fstat=80 fsync=82 fdatasync=83 exit=93 exit_group=94 futex=98 set_robust_list=99 nanosleep=101 getitimer=102 setitimer=103
        clock_gettime=113 clock_getres=114 clock_nanosleep=115 sched_getaffinity=123 sched_yield=124 restart_syscall=128 sigaltstack=132
        rt_sigaction=134 rt_sigprocmask=135 rt_sigreturn=139 times=153 uname=160 getrusage=165 gettimeofday=169 getpid=172 getppid=173
        getuid=174 geteuid=175 getgid=176 getegid=177 gettid=178 sysinfo=179 brk=214 munmap=215 mremap=216 mmap=222 mprotect=226
        madvise=233 renameat2=276 getrandom=278 membarrier=283 statx=291 rseq=293 faccessat2=439
        clone=220 fcntl=25 clone3=435"""),
}  # fmt: skip
REFUSED = (
    "socket.", "subprocess.", "ctypes.", "sqlite3.", "syslog.", "pty.", "resource.setrlimit", "resource.prlimit", "fcntl.",
    "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "os.kill", "signal.pthread_kill",
    "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.lchown", "os.chflags", "os.utime", "os.setxattr",
)  # fmt: skip
REFUSED_IMPORTS = ("_ctypes", "_posixshmem", "_gdbm", "_dbm")
CHANGES = ("os.remove", "os.rename", "os.truncate")  # their paths must lie in the working folder
LISTINGS = ("os.listdir", "os.scandir")

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PDEATHSIG, SECCOMP, NO_NEW_PRIVS = 1, 22, 38
EPERM, ENOTTY, ENOSYS = 1, 25, 38
IOCTL = {"x86_64": 16, "aarch64": 29}
READ_FILE, READ_FOLDER, WRITE = 1 << 2, 1 << 3, 1 << 1 | 1 << 5 | 1 << 8 | 1 << 14  # WRITE: write, remove, make a plain file, truncate


def libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def checked(result: int) -> int:
    """The result of a C call. Raises OSError where it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def landlock_version() -> int:
    """The version of Landlock that this kernel offers; 0: none."""
    return max(0, libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)) if sys.platform == "linux" else 0


def has_seccomp() -> bool:
    """Does this kernel filter calls, and is there a list for this processor?"""
    if sys.platform != "linux" or platform.machine() not in CALLS or struct.calcsize("P") != 8:
        return False
    errno_action = ctypes.c_uint32(0x00050000)
    return libc().syscall({"x86_64": 317, "aarch64": 277}[platform.machine()], 2, 0, ctypes.byref(errno_action)) == 0


def filter_of(machine: str) -> bytes:
    """The seccomp program (classic BPF) that allows the calls in CALLS and answers every other one with an error."""
    load, equal, at_least, bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, deny = 0x7FFF0000, 0x00050000
    architecture, text = CALLS[machine]
    numbers = {name: int(number) for name, number in (pair.split("=") for pair in text.split())}
    clone, fcntl, clone3 = (numbers.pop(name) for name in ("clone", "fcntl", "clone3"))

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    program = [
        step(load, 4), step(equal, architecture, 1, 0), step(give, deny | EPERM),
        step(load, 0),
        step(equal, clone3, 0, 1), step(give, deny | ENOSYS),  # its flags lie in memory; the C library then falls back to clone
        step(equal, IOCTL[machine], 0, 1), step(give, deny | ENOTTY),
        step(equal, clone, 0, 4), step(load, 16), step(bits, 0x10000, 0, 1), step(give, allow), step(give, deny | EPERM),  # CLONE_THREAD
        step(equal, fcntl, 0, 5), step(load, 24), step(equal, 1030, 1, 0), step(at_least, 5, 1, 0), step(give, allow),  # ≤ F_SETFL, or
        step(give, deny | EPERM),  # F_DUPFD_CLOEXEC; never F_SETOWN, which sends signals
    ]  # fmt: skip
    for number in sorted(numbers.values()):
        program += [step(equal, number, 0, 1), step(give, allow)]
    return b"".join([*program, step(give, deny | EPERM)])


def only_listed_calls() -> None:
    """Seccomp. Raises OSError where the kernel refuses."""
    code = ctypes.create_string_buffer(filter_of(platform.machine()))
    program = struct.pack("=HxxxxxxQ", (len(code) - 1) // 8, ctypes.addressof(code))
    checked(libc().prctl(SECCOMP, 2, ctypes.c_char_p(program), 0, 0))


def library() -> list[str]:
    """What a program may read besides its folder: the Python library, and the shared libraries that its modules load."""
    python = os.path.dirname(os.path.dirname(os.path.realpath(os.__file__)))
    return [os.path.realpath(path) for path in (python, "/usr/lib", "/lib", "/lib64", "/etc/ld.so.cache") if os.path.exists(path)]


def only_these_files(version: int, folder: str) -> None:
    """Landlock, which also refuses TCP (version ≥ 4) and signals to the outside (≥ 6). Raises OSError where the kernel refuses."""
    c = libc()
    everything = (1 << {1: 13, 2: 14}.get(version, 15)) - 1
    ruleset = struct.pack("=QQQ", everything, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    rules = checked(c.syscall(CREATE_RULESET, ruleset, ctypes.c_size_t(len(ruleset)), 0))
    grants = [*((path, READ_FILE | READ_FOLDER) for path in library()), (folder, READ_FILE | READ_FOLDER | WRITE)]
    for path, rights in [*grants, (os.devnull, READ_FILE | WRITE)]:
        if not os.path.isdir(path):
            rights &= READ_FILE | 1 << 1 | 1 << 14
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        checked(c.syscall(ADD_RULE, rules, 1, struct.pack("=Qi", rights & everything, handle), 0))
        os.close(handle)
    checked(c.syscall(RESTRICT_SELF, rules, 0))
    os.close(rules)


def audit_hook(folder: str) -> Callable[[str, tuple], None]:
    """The hook that raises PermissionError on every event that a program has no business with."""
    readable, realpath, devnull = (*library(), folder), os.path.realpath, os.devnull

    def inside(path: object, roots: tuple[str, ...]) -> bool:
        if path is None or isinstance(path, int):
            return True
        real = realpath(os.fsdecode(path))
        return real == devnull or any(real == root or real.startswith(root + "/") for root in roots)

    def hook(event: str, details: tuple) -> None:
        if event == "open":
            path, _, flags = details
            fine = inside(path, (folder,) if flags and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) else readable)
        elif event == "import":
            fine = True
            if details[0] in REFUSED_IMPORTS:
                raise ImportError(f"the sandbox forbids {details[0]}")  # which the library expects of a module that is not there
        elif event in CHANGES:
            fine = all(inside(path, (folder,)) for path in details[: 2 if event == "os.rename" else 1])
        elif event in LISTINGS:
            fine = inside(details[0] if details[0] is not None else ".", readable)
        else:
            fine = not event.startswith(REFUSED)
        if not fine:
            raise PermissionError(EPERM, f"the sandbox forbids {event}", str(details[0])[:200] if details else None)

    return hook


def lock_up(folder: str, seconds: int, memory: int, file_size: int) -> None:
    """Everything this system offers, for good. Raises OSError or ValueError where a layer that exists cannot be had."""
    seccomp, landlock = has_seccomp(), landlock_version()
    hook = audit_hook(folder)  # made first: it looks at the file system
    limits = {"RLIMIT_CPU": seconds, "RLIMIT_FSIZE": file_size, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 64}
    if sys.platform == "linux":
        limits["RLIMIT_AS"] = memory
        checked(libc().prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        checked(libc().prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
    if not seccomp:
        limits["RLIMIT_NPROC"] = 0
    for name, value in limits.items():
        _, hard = resource.getrlimit(getattr(resource, name))
        last = value + (name == "RLIMIT_CPU")  # a second between SIGXCPU, which says why, and SIGKILL, which does not
        most = last if hard == resource.RLIM_INFINITY else min(last, hard)
        resource.setrlimit(getattr(resource, name), (min(value, most), most))
    if landlock:
        only_these_files(landlock, folder)
    if seccomp:
        only_listed_calls()
    for name in ("ctypes", "_ctypes", "ctypes._endian"):
        sys.modules.pop(name, None)
    sys.addaudithook(hook)


def execute(source: bytes) -> None:
    """Execute a program as the main module. An exception is printed without the frames of this file, and ends the process with 1."""
    module = ModuleType("__main__")
    sys.modules["__main__"], sys.argv = module, [NAME]
    builtins.exit = builtins.quit = sys.exit  # usually made by the site module, which was not loaded
    try:
        exec(compile(source, NAME, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        own = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(own), own)
        sys.exit(1)


def main() -> None:
    """Arguments: the working folder, the file handle of the program, seconds, bytes of memory, bytes of a file."""
    folder, *numbers = sys.argv[1:]
    handle, seconds, memory, file_size = map(int, numbers)
    os.environ.clear()
    with open(handle, "rb") as stream:
        source = stream.read()
    lock_up(os.path.realpath(folder), max(1, seconds), memory, file_size)
    os.write(1, READY)
    execute(source)


if __name__ == "__main__":
    main()
