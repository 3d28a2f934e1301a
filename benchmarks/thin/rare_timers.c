/* Loaded before a worker of Ray: whatever would wait for 5 ms to 4 s, unless something comes, waits for 4 s.
 *
 * A worker's idle time goes into timers of 10 to 250 ms that find nothing to do. What comes (a call, an answer, the end of
 * a connection) still wakes the thread that waits for it, at once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SHORTEST_NS 5000000L /* shorter waits are for something that is about to come */
#define RARE_S 4

static int is_short(const struct timespec *wait) {
    return wait->tv_sec < RARE_S && wait->tv_sec * 1000000000L + wait->tv_nsec >= SHORTEST_NS;
}

static const struct timespec rare = {.tv_sec = RARE_S};

int timerfd_settime(int file, int flags, const struct itimerspec *asked, struct itimerspec *before) {
    static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "timerfd_settime");
    struct itimerspec set = *asked;
    if (!flags && is_short(&set.it_value))
        set.it_value = rare;
    return real(file, flags, &set, before);
}

static int rare_ms(int wait_ms) {
    return wait_ms >= SHORTEST_NS / 1000000 && wait_ms < RARE_S * 1000 ? RARE_S * 1000 : wait_ms;
}

int epoll_wait(int file, struct epoll_event *events, int most, int wait_ms) {
    static int (*real)(int, struct epoll_event *, int, int);
    if (!real)
        real = dlsym(RTLD_NEXT, "epoll_wait");
    return real(file, events, most, rare_ms(wait_ms));
}

int epoll_pwait(int file, struct epoll_event *events, int most, int wait_ms, const sigset_t *signals) {
    static int (*real)(int, struct epoll_event *, int, int, const sigset_t *);
    if (!real)
        real = dlsym(RTLD_NEXT, "epoll_pwait");
    return real(file, events, most, rare_ms(wait_ms), signals);
}

/* The threads of gRPC wait by a plain futex; its timeout is a length of time, as that of no other kind of futex is. */
long syscall(long number, ...) {
    static long (*real)(long, ...);
    if (!real)
        real = dlsym(RTLD_NEXT, "syscall");
    long args[6];
    va_list given;
    va_start(given, number);
    for (int i = 0; i < 6; i++)
        args[i] = va_arg(given, long);
    va_end(given);
    const struct timespec *wait = (const struct timespec *)args[3];
    if (number == SYS_futex && (args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && wait && is_short(wait))
        args[3] = (long)&rare;
    return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
