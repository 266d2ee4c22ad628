#include <pthread.h>

struct stock {
    pthread_mutex_t lock;
    int left;
    int sold;
};

void sell(struct stock *stock, int pieces);
