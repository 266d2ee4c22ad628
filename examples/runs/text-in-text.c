/* Two texts, one of which ends like the other, so that the linker may let it begin inside. Either
 * may be the first in the file. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

static const char *volatile words[] = {"def", "abcdef", "uvwxyz", "xyz"};
static int letters;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *count(void *word) {
    int more = (int)strlen(word);
    pthread_mutex_lock(&lock);
    letters += more;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, count, (void *)words[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
#ifdef WRONG
    assert(letters == 4 * 6);
#endif
    assert(letters == 2 * (3 + 6));
    return 0;
}
