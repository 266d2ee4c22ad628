/* Two transfers in opposite directions between the same two accounts.
 *
 * Wrong: a transfer locks only the account that it takes the money from, yet
 * writes both. The two threads hold different locks and so no common one. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

struct order {
    struct account *from, *to;
    int amount;
};

static struct account alice = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account bob = {PTHREAD_MUTEX_INITIALIZER, 100};

static void *transfer(void *arg)
{
    struct order *order = arg;

    pthread_mutex_lock(&order->from->lock);
    order->from->balance -= order->amount; /* guarded by the lock of this account */
    order->to->balance += order->amount;   /* guarded by the lock of the wrong one */
    pthread_mutex_unlock(&order->from->lock);
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
