/* Prints how many nanoseconds a call of the kernel takes, for several kinds of calls. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int rounds;
static int ends[2], pair[2], counter, file;
static char data[16];

static int through_pipe(void)
{
    return write(ends[1], data, 1) == 1 && read(ends[0], data, 1) == 1;
}

static int through_sockets(void)
{
    return send(pair[0], data, 1, 0) == 1 && recv(pair[1], data, 1, 0) == 1;
}

static int count(void)
{
    uint64_t one = 1;
    return write(counter, &one, sizeof one) == sizeof one &&
           read(counter, &one, sizeof one) == sizeof one;
}

static int to_file(void)
{
    return pwrite(file, data, sizeof data, 0) == sizeof data;
}

static int from_file(void)
{
    return pread(file, data, sizeof data, 0) == sizeof data;
}

static int look(void)
{
    struct pollfd one = {ends[0], POLLIN, 0};
    return poll(&one, 1, 0) == 0;
}

static int open_and_close(void)
{
    int descriptor = open("/dev/null", O_RDONLY);
    return descriptor >= 0 && close(descriptor) == 0;
}

static int ask_for_time(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void measure(const char *name, int calls, int (*work)(void))
{
    double start = now();
    for (int i = 0; i < rounds; i++)
        if (!work()) {
            perror(name);
            exit(1);
        }
    printf("%s %.0f\n", name, (now() - start) / rounds / calls);
}

static void *other(void *unused)
{
    return unused;
}

int main(int argc, char **argv)
{
    char name[] = "/tmp/foretrace-calls-XXXXXX";
    pthread_t thread;

    rounds = argc > 1 ? atoi(argv[1]) : 100000;
    /* With one thread alone there would be nothing to keep in order. */
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    counter = eventfd(0, 0);
    file = mkstemp(name);
    if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || counter < 0 ||
        file < 0) {
        perror("calls");
        return 1;
    }
    unlink(name);
    measure("pipe", 2, through_pipe);
    measure("socketpair", 2, through_sockets);
    measure("eventfd", 2, count);
    measure("pwrite", 1, to_file);
    measure("pread", 1, from_file);
    measure("poll", 1, look);
    measure("open,close", 2, open_and_close);
    measure("clock_gettime", 1, ask_for_time);
    return 0;
}
