/* Two transfers in opposite directions between the same two accounts.
 *
 * Corrected: a transfer locks both accounts, always in the order of their
 * numbers, so that opposite transfers cannot block each other. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct account {
    int number;
    pthread_mutex_t lock;
    int balance;
};

struct order {
    struct account *from, *to;
    int amount;
};

static struct account alice = {1, PTHREAD_MUTEX_INITIALIZER, 100};
static struct account bob = {2, PTHREAD_MUTEX_INITIALIZER, 100};

static void *transfer(void *arg)
{
    struct order *order = arg;
    int upwards = order->from->number < order->to->number;
    struct account *first = upwards ? order->from : order->to;
    struct account *second = upwards ? order->to : order->from;

    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    order->from->balance -= order->amount;
    order->to->balance += order->amount;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
    return NULL;
}

int main(void)
{
    struct order orders[2] = {{&alice, &bob, 10}, {&bob, &alice, 30}};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, transfer, &orders[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    assert(alice.balance + bob.balance == 200);
    printf("alice %d, bob %d\n", alice.balance, bob.balance);
    return 0;
}
