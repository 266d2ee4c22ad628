/* Two tellers pay into one account.
 *
 * Wrong: nothing guards the balance. If both read it before either writes it
 * back, the second write overwrites the first, and one deposit is lost. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static int balance = 100;

static void *deposit(void *amount)
{
    balance += *(int *)amount; /* a read and a write; the other teller fits between */
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
