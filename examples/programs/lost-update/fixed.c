/* Two tellers pay into one account.
 *
 * Corrected: a mutex makes each deposit one step. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *deposit(void *amount)
{
    pthread_mutex_lock(&guard);
    balance += *(int *)amount;
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    int amounts[2] = {10, 20};
    pthread_t tellers[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&tellers[i], NULL, deposit, &amounts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(tellers[i], NULL);

    assert(balance == 130);
    printf("balance %d\n", balance);
    return 0;
}
