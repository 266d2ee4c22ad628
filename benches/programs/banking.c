/* After the banking example of paper 000, Table 1: threads serve customers. A service changes the balance of an account under the account's lock, and then
   the bank's total under its own. At the end the balances must add up to the total. With ERROR, a thread gives the lock of the total back between reading and
   writing it.

   banking [THREADS [SERVICES]] */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { ACCOUNTS = 123, MOST_THREADS = 32 };

struct account {
    pthread_mutex_t lock;
    unsigned balance;
};

static struct account accounts[ACCOUNTS];
static pthread_mutex_t bank = PTHREAD_MUTEX_INITIALIZER;
static unsigned total;
static unsigned threads = 2, services = 21;

static void deposit(struct account *account, unsigned amount)
{
    pthread_mutex_lock(&account->lock);
    account->balance += amount;
    pthread_mutex_unlock(&account->lock);

    pthread_mutex_lock(&bank);
    unsigned sum = total + amount;
#ifdef ERROR
    pthread_mutex_unlock(&bank);
    pthread_mutex_lock(&bank);
#endif
    total = sum;
    pthread_mutex_unlock(&bank);
}

static void *serve(void *argument)
{
    unsigned teller = (unsigned)(uintptr_t)argument;
    for (unsigned service = 0; service < services; service++)
        deposit(&accounts[(teller * 37 + service * 11) % ACCOUNTS], 1 + (teller * 7 + service * 3) % 20);
    return NULL;
}

int main(int argument_count, char **arguments)
{
    pthread_t tellers[MOST_THREADS];
    unsigned *sizes[] = { &threads, &services };
    for (int at = 1; at < argument_count && at <= 2; at++)
        *sizes[at - 1] = (unsigned)atoi(arguments[at]);

    for (unsigned at = 0; at < ACCOUNTS; at++) {
        pthread_mutex_init(&accounts[at].lock, NULL);
        accounts[at].balance = 100;
        total += 100;
    }
    for (unsigned teller = 0; teller < threads; teller++)
        pthread_create(&tellers[teller], NULL, serve, (void *)(uintptr_t)teller);
    for (unsigned teller = 0; teller < threads; teller++)
        pthread_join(tellers[teller], NULL);

    unsigned all = 0;
    for (unsigned at = 0; at < ACCOUNTS; at++)
        all += accounts[at].balance;
    assert(all == total);
    return 0;
}
