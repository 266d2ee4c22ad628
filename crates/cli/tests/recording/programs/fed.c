/* A helper takes a lock, gives it back, and then feeds the user, who waits for that with the lock: a deadlock, if the user comes first and nothing
 * else ends its wait. The first argument says by what it waits. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* Time enough for another thread to come to its end. */
#define SETTLE 200000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way;
/* What is read from and what is written to; another pipe, which only some ways use. */
static int from, to, other[2];

static int is(const char *name) { return strcmp(way, name) == 0; }

static void feed(void)
{
    char bytes[2] = {1, 2};

    if (is("end") || is("early-end") || is("poll-end"))
        close(to);
    else if (is("shutdown"))
        shutdown(to, SHUT_WR);
    else if (is("counter") || is("tokens") || is("counted") || is("poll-counter"))
        eventfd_write(to, 2);
    else if (is("crossed"))
        (void)!write(to, bytes, 1);
    else
        (void)!write(to, bytes, 2);
}

static void eat(void)
{
    char bytes[2];
    eventfd_t value;
    struct iovec parts[2] = {{bytes, 1}, {bytes + 1, 1}};
    struct pollfd both[2] = {{from, POLLIN, 0}, {other[0], POLLIN, 0}};
    int is_two = is("poll-two") || is("poll-two-early");
    fd_set set;

    if (is("counter") || is("tokens") || is("counted"))
        eventfd_read(from, &value);
    else if (is("readv"))
        (void)!readv(from, parts, 2);
    else if (is("recv") || is("time-limit"))
        recv(from, bytes, 2, 0);
    else if (is("dont-wait"))
        recv(from, bytes, 2, MSG_DONTWAIT);
    else if (is("polled"))
        poll(both, 1, 5);
    else if (is("poll-writable")) {
        both[1] = (struct pollfd){to, POLLOUT, 0};
        poll(both, 2, -1);
    } else if (strncmp(way, "poll", 4) == 0) {
        poll(both, is_two ? 2 : 1, -1);
        if (is("poll-read"))
            (void)!read(from, bytes, 2);
    } else if (is("select")) {
        FD_ZERO(&set);
        FD_SET(from, &set);
        select(from + 1, &set, NULL, NULL, NULL);
    }
    else if (is("short"))
        (void)!read(from, bytes, 1), (void)!read(from, bytes, 1);
    else
        (void)!read(from, bytes, 2);
}

static void *help(void *unused)
{
    char byte;

    if (is("early") || is("early-end") || is("poll-early"))
        feed();
    if (!is("crossed")) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    if (is("crossed"))
        (void)!read(other[0], &byte, 1);
    if (!is("early") && !is("early-end") && !is("poll-early"))
        feed();
    return unused;
}

static void *use(void *unused)
{
    char byte = 0;

    pthread_mutex_lock(&lock);
    eat();
    if (is("crossed"))
        (void)!write(other[1], &byte, 1);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *give_first(void *unused)
{
    char byte = 0;

    pthread_mutex_lock(&lock);
    (void)!write(to, &byte, 1);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *sleep_long(void *unused)
{
    usleep(1000000);
    return unused;
}

static void nothing(int number) { (void)number; }

static void connect_to_myself(int family)
{
    struct sockaddr_storage name = {0};
    struct sockaddr_in *internet = (void *)&name;
    struct sockaddr_un *local = (void *)&name;
    socklen_t length = sizeof name;
    int listener = socket(family, SOCK_STREAM, 0);

    if (family == AF_INET) {
        internet->sin_family = AF_INET;
        internet->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        length = sizeof *internet;
    } else {
        local->sun_family = AF_UNIX;
        snprintf(local->sun_path + 1, 64, "foretrace-waiting-%d", (int)getpid());
        length = sizeof(sa_family_t) + 1 + strlen(local->sun_path + 1);
    }
    assert(bind(listener, (void *)&name, length) == 0 && listen(listener, 1) == 0);
    length = sizeof name;
    getsockname(listener, (void *)&name, &length);
    to = socket(family, SOCK_STREAM, 0);
    assert(connect(to, (void *)&name, length) == 0);
    from = accept(listener, NULL, NULL);
    assert(from >= 0);
}

static void open_both(void)
{
    struct timeval limit = {0, 20000};
    int ends[2];

    if (is("counter") || is("poll-counter")) {
        from = to = eventfd(0, 0);
    } else if (is("tokens")) {
        from = to = eventfd(0, EFD_SEMAPHORE);
    } else if (is("counted")) {
        from = to = eventfd(1, 0);
    } else if (is("internet") || is("local")) {
        connect_to_myself(is("internet") ? AF_INET : AF_UNIX);
    } else if (is("recv") || is("poll-recv") || is("time-limit") || is("dont-wait") || is("shutdown") ||
               is("later-limit")) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        from = ends[0], to = ends[1];
        if (is("time-limit"))
            setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    } else {
        assert(pipe2(ends, is("non-blocking") ? O_NONBLOCK : 0) == 0);
        from = ends[0], to = ends[1];
    }
    assert(pipe(other) == 0);
}

/* Somebody else could feed the user, or interrupt it. */
static void disturb(void)
{
    struct sigaction action = {.sa_handler = nothing};

    if (is("handler"))
        sigaction(SIGUSR1, &action, NULL);
    else if (is("ignored"))
        signal(SIGUSR1, SIG_IGN);
    else if (is("forked") && fork() == 0) {
        usleep(10 * SETTLE);
        _exit(0);
    } else if (is("closed"))
        close(dup(to));
    else if (is("changed"))
        fcntl(from, F_SETFL, 0);
    else if (is("poll-two-early"))
        assert(write(other[1], "", 1) == 1);
}

/* Reads once, as the user does; whoever reads from then on does not wait. */
static void change_later(void)
{
    struct timeval limit = {0, 20000};
    int ends[2], on = 1;
    char byte = 0;

    assert(write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1);
    if (is("later-flag"))
        fcntl(from, F_SETFL, O_NONBLOCK);
    else if (is("later-ioctl"))
        ioctl(from, FIONBIO, &on);
    else if (is("later-limit"))
        setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    else {
        assert(pipe2(ends, O_NONBLOCK) == 0);
        dup2(ends[0], from), dup2(ends[1], to);
    }
}

int main(int count, char **arguments)
{
    pthread_t helper, user, first, more = 0;

    way = count > 1 ? arguments[1] : "pipe";
    open_both();
    disturb();
    if (strncmp(way, "later", 5) == 0)
        change_later();
    if (is("crossed")) {
        pthread_create(&first, NULL, give_first, NULL);
        usleep(SETTLE);
    }
    pthread_create(&helper, NULL, help, NULL);
    usleep(SETTLE);
    pthread_create(&user, NULL, use, NULL);
    if (is("crossed"))
        pthread_join(first, NULL);
    if (is("cancelled")) {
        pthread_create(&more, NULL, sleep_long, NULL);
        pthread_cancel(more);
        pthread_join(more, NULL);
    }
    pthread_join(helper, NULL);
    pthread_join(user, NULL);
    puts("done");
    return 0;
}
