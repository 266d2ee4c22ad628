/* A supplier fills a stock and adds what there is to an eventfd; a customer waits for it there.
 *
 * Right: the customer locks the stock when it has what it waits for. */
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int supplied;
static int stock;

static void *supply(void *unused)
{
    pthread_mutex_lock(&lock);
    stock += 5;
    pthread_mutex_unlock(&lock);
    eventfd_write(supplied, 5);
    return unused;
}

static void *buy(void *unused)
{
    eventfd_t there = 0;

    eventfd_read(supplied, &there);
    pthread_mutex_lock(&lock);
    stock -= there;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t supplier, customer;

    supplied = eventfd(0, 0);
    pthread_create(&supplier, NULL, supply, NULL);
    pthread_create(&customer, NULL, buy, NULL);
    pthread_join(supplier, NULL);
    pthread_join(customer, NULL);
    printf("stock %d\n", stock);
    return 0;
}
