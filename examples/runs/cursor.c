/* Threads that write behind each other into one array, and each into its own line. WRONG writes more
 * than there is room for. */
#include <assert.h>
#include <pthread.h>

static int numbers[4];
static int *cursor = numbers;
static char lines[2][16] = {"to be", "or not to be"};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *given) {
    char *line = given;
    int words = 1;
    for (char *at = line; *at != '\0'; at++)
        if (words == 1 && *at == ' ') {
            *at = '-';
            words++;
        }
#ifdef WRONG
    words = 3;
#endif
    for (int i = 0; i < words; i++) {
        pthread_mutex_lock(&lock);
        *cursor++ = words;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, lines[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(cursor == numbers + 4 && numbers[0] == 2);
    return 0;
}
