/*
 * A thread waits on a socket with a lock that the other one needs before it says anything. With a
 * time limit (SO_RCVTIMEO, SO_SNDTIMEO) it gives up: no schedule is a deadlock.
 */
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], said;
static const char *way;
static char much[1 << 16];

static void *wait_with_lock(void *unused)
{
    ssize_t result;

    pthread_mutex_lock(&lock);
    if (!strcmp(way, "send"))
        result = send(ends[0], much, 1, 0);
    else if (!strcmp(way, "read"))
        result = read(ends[0], much, 1);
    else
        result = recv(ends[0], much, 1, 0);
    CHECK(result > 0 || (result < 0 && errno == EAGAIN));
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *speak_with_lock(void *unused)
{
    pthread_mutex_lock(&lock);
    said++;
    pthread_mutex_unlock(&lock);
    CHECK(write(ends[1], "x", 1) == 1);
    return unused;
}

int main(int count, char **arguments)
{
    struct timeval limit = {60, 500000};
    pthread_t threads[2];

    way = count > 1 ? arguments[1] : "recv";
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    /* Nobody takes anything out: there is no room. */
    while (!strcmp(way, "send") && send(ends[0], much, sizeof much, MSG_DONTWAIT) > 0)
        ;
    int option = strcmp(way, "send") ? SO_RCVTIMEO : SO_SNDTIMEO;
    CHECK(setsockopt(ends[0], SOL_SOCKET, option, &limit, sizeof limit) == 0);
    pthread_create(&threads[0], NULL, wait_with_lock, NULL);
    pthread_create(&threads[1], NULL, speak_with_lock, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
