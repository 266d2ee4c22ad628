/* A withdrawal that is refused, beside a deposit.
 *
 * Corrected: the branch for the refusal leaves the release to the end. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;
static int refused;

static void *withdraw(void *amount)
{
    pthread_mutex_lock(&guard);
    if (balance < *(int *)amount) {
        refused = 1;
    } else {
        balance -= *(int *)amount;
    }
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *deposit(void *amount)
{
    pthread_mutex_lock(&guard);
    balance += *(int *)amount;
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    int much = 500, little = 50;
    pthread_t withdrawal, payment;

    pthread_create(&withdrawal, NULL, withdraw, &much);
    pthread_create(&payment, NULL, deposit, &little);
    pthread_join(withdrawal, NULL);
    pthread_join(payment, NULL);

    assert(balance == 150 && refused);
    printf("balance %d\n", balance);
    return 0;
}
