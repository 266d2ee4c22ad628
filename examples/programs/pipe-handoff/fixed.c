/* A producer hands a message over and says so with a byte through a pipe.
 *
 * The message is there before the byte is sent. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static int message;

static void *produce(void *unused)
{
    char ready = 1;
    ssize_t sent;

    message = 42;
    sent = write(ends[1], &ready, 1);
    assert(sent == 1);
    return unused;
}

static void *consume(void *unused)
{
    char ready;
    ssize_t got = read(ends[0], &ready, 1);

    assert(got == 1);
    printf("message %d\n", message == 42 ? 42 : 0);
    return unused;
}

int main(void)
{
    pthread_t producer, consumer;

    if (pipe(ends) != 0)
        return 1;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    return 0;
}
