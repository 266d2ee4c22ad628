#include <stdio.h>

#include "stock.h"

static struct stock stock = { .lock = PTHREAD_MUTEX_INITIALIZER, .left = 10 };

static void *buyer(void *unused) {
    sell(&stock, 3);
    return unused;
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) { /* one buyer, without a thread */
        buyer(NULL);
        return 0;
    }
    pthread_t buyers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&buyers[i], NULL, buyer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(buyers[i], NULL);
    printf("sold %d of 10\n", stock.sold);
    return 0;
}
