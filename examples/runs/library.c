// Numbers and texts from arguments, the environment and constants, the time, random numbers, and
// variables of which each thread has its own. WRONG thinks that nobody has changed its own.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *words[] = {"one", "two", "three"};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int own = 7;
static char text[32];
static size_t used;

static void *add(void *word) {
    own += 1;
    usleep(rand() % 10);
    pthread_mutex_lock(&lock);
    size_t place = used;
    memcpy(text + place, word, strlen(word));
    used = place + strlen(word);
    assert(used == strlen(text));
    pthread_mutex_unlock(&lock);
#ifdef WRONG
    assert(strchr(text, 't') == NULL || own == 7);
#else
    assert(own == 8);
#endif
    return NULL;
}

int main(int count, char **arguments) {
    int threads = atoi(arguments[1]);
    pthread_t ids[threads];
    struct timespec before, behind;
    srand((unsigned)time(NULL));
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert(count == 3 && strcmp(arguments[2], words[2]) == 0);
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, add, (void *)words[i]);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &behind);
    assert(behind.tv_sec >= before.tv_sec && getenv("NO_SUCH_NAME_ANYWHERE") == NULL);
    printf("%s %zu\n", text, used);
    return 0;
}
