/* A reader looks into a pipe without waiting. A writer works in the scratch memory, and then writes to the pipe.
 *
 * Wrong: if there is nothing, the reader takes the scratch memory, as if nobody were at work. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static int scratch;

static void *look(void *unused)
{
    char byte;

    if (read(ends[0], &byte, 1) < 0)
        scratch = 1; /* the writer may be at work */
    return unused;
}

static void *put(void *unused)
{
    char byte = 1;

    scratch = 2;
    return write(ends[1], &byte, 1) == 1 ? unused : NULL;
}

int main(void)
{
    pthread_t looker, putter;

    if (pipe2(ends, O_NONBLOCK) != 0)
        return 1;
    pthread_create(&looker, NULL, look, NULL);
    pthread_create(&putter, NULL, put, NULL);
    pthread_join(looker, NULL);
    pthread_join(putter, NULL);
    printf("scratch %d\n", scratch > 0 ? 1 : 0);
    return 0;
}
