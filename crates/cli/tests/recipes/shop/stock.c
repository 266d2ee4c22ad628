#include "stock.h"

void sell(struct stock *stock, int pieces) {
#ifndef CAREFUL
    /* Looked at before the lock is taken: two buyers may get the same pieces. */
    if (stock->left < pieces)
        return;
#endif
    pthread_mutex_lock(&stock->lock);
    if (stock->left >= pieces) {
        stock->left -= pieces;
        stock->sold += pieces;
    }
    pthread_mutex_unlock(&stock->lock);
}
