# ruff: noqa: INP001  (a folder of PYTHONPATH, and no package)
"""The names that macOS lacks, by module, and what else it answers; each with its source.

Owns the table; `sitecustomize` beside it applies it.
"""

from __future__ import annotations

ABSENT = {
    # Doc/library/os.rst, "Availability" of each; `waitid` came to macOS with Python 3.13.
    "posix": (
        "pidfd_open pipe2 memfd_create sched_getaffinity sched_setaffinity sched_setscheduler "
        "sched_getscheduler sched_getparam sched_setparam posix_fadvise posix_fallocate eventfd "
        "eventfd_read eventfd_write timerfd_create timerfd_settime timerfd_settime_ns "
        "timerfd_gettime timerfd_gettime_ns getrandom fdatasync splice copy_file_range getxattr "
        "setxattr listxattr removexattr getresuid getresgid setresuid setresgid setns unshare "
        "waitid waitid_result P_PIDFD POSIX_SPAWN_CLOSEFROM O_PATH O_TMPFILE O_DIRECT O_NOATIME "
        "O_LARGEFILE O_RSYNC"
    ),
    # Doc/library/signal.rst; sys/signal.h of XNU.
    "_signal": (
        "pidfd_send_signal SIGPWR SIGSTKFLT SIGPOLL SIGCLD SIGRTMIN SIGRTMAX sigtimedwait "
        "sigwaitinfo"
    ),
    # Doc/library/fcntl.rst: "Linux" at each; sys/fcntl.h of XNU.
    "fcntl": (
        "F_SETPIPE_SZ F_GETPIPE_SZ F_NOTIFY F_SETLEASE F_GETLEASE F_ADD_SEALS F_GET_SEALS "
        "F_OFD_GETLK F_OFD_SETLK F_OFD_SETLKW F_SETSIG F_GETSIG DN_ACCESS DN_MODIFY DN_CREATE "
        "DN_DELETE DN_RENAME DN_ATTRIB DN_MULTISHOT"
    ),
    # Doc/library/select.rst: epoll is Linux's. kqueue cannot be lent: a loop uses poll here.
    "select": "epoll EPOLL_CLOEXEC POLLRDHUP POLLMSG",
    # sys/socket.h and netinet/tcp.h of XNU.
    "_socket": (
        "AF_NETLINK AF_PACKET AF_ALG AF_CAN AF_VSOCK AF_TIPC AF_BLUETOOTH SO_PEERCRED SO_PASSCRED "
        "SO_DOMAIN SO_PROTOCOL SO_BINDTODEVICE SO_MARK SO_PRIORITY SOCK_CLOEXEC SOCK_NONBLOCK "
        "MSG_NOSIGNAL MSG_CMSG_CLOEXEC TCP_KEEPIDLE TCP_USER_TIMEOUT TCP_CORK TCP_QUICKACK "
        "TCP_DEFER_ACCEPT TCP_SYNCNT TCP_LINGER2 TCP_WINDOW_CLAMP TCP_INFO"
    ),
    # Doc/library/time.rst.
    "time": "CLOCK_BOOTTIME CLOCK_TAI pthread_getcpuclockid",
    # Doc/library/resource.rst.
    "resource": "prlimit RUSAGE_THREAD RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_SIGPENDING",
}

PIPE_BUF_BYTES = 512
"""`PIPE_BUF` (sys/syslimits.h): a pipe with this much room is ready (bsd/kern/sys_pipe.c)."""

PIPE_BYTES = 16 * 1024
"""What a pipe holds at first; it grows to 64 KiB (sys/pipe.h), but only while memory allows it."""

SOCKET_PATH_BYTES = 103
"""`sun_path` has 104 bytes (sys/un.h)."""
