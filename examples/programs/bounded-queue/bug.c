/* Two producers and a consumer share a queue with two places, one of which is
 * taken at first. A producer that finds no room drops its item.
 *
 * Wrong: a producer asks for room in one critical section and puts its item in
 * another one. If both ask before either has put, the queue is overrun. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { PLACES = 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int length = 1;

static int has_room(void)
{
    pthread_mutex_lock(&guard);
    int room = length < PLACES; /* true now, and perhaps not for long */
    pthread_mutex_unlock(&guard);
    return room;
}

static void put(void)
{
    pthread_mutex_lock(&guard);
    length++;
    assert(length <= PLACES);
    pthread_mutex_unlock(&guard);
}

static void *produce(void *unused)
{
    if (has_room())
        put();
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
