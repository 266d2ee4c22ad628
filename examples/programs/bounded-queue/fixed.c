/* Two producers and a consumer share a queue with two places, one of which is
 * taken at first. A producer that finds no room drops its item.
 *
 * Corrected: a producer asks and puts in one critical section. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { PLACES = 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int length = 1;

static void *produce(void *unused)
{
    pthread_mutex_lock(&guard);
    if (length < PLACES) {
        length++;
        assert(length <= PLACES);
    }
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *consume(void *unused)
{
    pthread_mutex_lock(&guard);
    if (length > 0)
        length--;
    pthread_mutex_unlock(&guard);
    return unused;
}

int main(void)
{
    void *(*bodies[3])(void *) = {produce, consume, produce};
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);

    printf("the queue was not overrun\n");
    return 0;
}
