/* The idiom of a file system that paper 001 takes from Flanagan and Godefroid, POPL 2005: threads
 * look for a free block, starting where their i-node hashes to. WRONG: all begin at the same block,
 * and nobody locks blocks, so that two threads may take the same one. */
#include <assert.h>
#include <pthread.h>

#ifndef THREADS
#define THREADS 2
#endif
#define BLOCKS 4
#define INODES 2

static int inode[INODES], busy[BLOCKS], owners[BLOCKS];
static pthread_mutex_t lock_inode[INODES], lock_block[BLOCKS];

#ifdef WRONG
#define lock(mutex) ((void)(mutex))
#define unlock(mutex) ((void)(mutex))
#else
#define lock pthread_mutex_lock
#define unlock pthread_mutex_unlock
#endif

static void *work(void *number) {
    int i = *(int *)number % INODES;
    pthread_mutex_lock(&lock_inode[i]);
    if (inode[i] == 0) {
#ifdef WRONG
        int block = 0;
#else
        int block = (i * 2) % BLOCKS;
#endif
        for (int tries = 0; tries < BLOCKS; tries++) {
            lock(&lock_block[block]);
            if (!busy[block]) {
                assert(!busy[block]);
                busy[block] = 1;
                owners[block]++;
                assert(owners[block] == 1);
                inode[i] = block + 1;
                unlock(&lock_block[block]);
                break;
            }
            unlock(&lock_block[block]);
            block = (block + 1) % BLOCKS;
        }
    }
    pthread_mutex_unlock(&lock_inode[i]);
    return 0;
}

int main(void) {
    static int numbers[THREADS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        numbers[t] = t;
        pthread_create(&threads[t], 0, work, &numbers[t]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], 0);
    return 0;
}
