/* A producer delivers two items, one at a time, to two consumers. Main is the
 * first consumer; it is early and has to wait.
 *
 * Wrong: the consumer does not look again after it was woken. Between the
 * signal and its return from the wait the other consumer can take the item. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t delivered = PTHREAD_COND_INITIALIZER;
static int stock;

static void *consume(void *unused)
{
    pthread_mutex_lock(&guard);
    if (stock == 0) /* once is not enough */
        pthread_cond_wait(&delivered, &guard);
    assert(stock > 0);
    stock--;
    pthread_mutex_unlock(&guard);
    return unused;
}

static void deliver(void)
{
    pthread_mutex_lock(&guard);
    stock++;
    pthread_cond_signal(&delivered);
    pthread_mutex_unlock(&guard);
}

static void *produce(void *unused)
{
    pthread_t second_consumer;

    pthread_create(&second_consumer, NULL, consume, NULL);
    deliver();
    deliver();
    pthread_join(second_consumer, NULL);
    return unused;
}

int main(void)
{
    pthread_t producer;

    pthread_create(&producer, NULL, produce, NULL);
    consume(NULL);
    pthread_join(producer, NULL);

    assert(stock == 0);
    printf("stock %d\n", stock);
    return 0;
}
