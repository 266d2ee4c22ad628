/* A withdrawal that is refused, beside a deposit.
 *
 * Wrong: the branch for the refusal unlocks, but does not return, and the lock
 * is released again below. In this run nobody holds it then; in another one the
 * second release takes it away from the depositor. */
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
        pthread_mutex_unlock(&guard); /* a return is missing here */
    } else {
        balance -= *(int *)amount;
    }
    pthread_mutex_unlock(&guard); /* the second release */
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
