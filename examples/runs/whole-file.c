/* A file that is read as a whole, into memory that grows, and as many threads as there are
 * processors, at most two. What a thread gives has more than 64 bits. WRONG counts too much. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct found {
    long lines;
    long digits;
};

static char *text;
static size_t size;
static struct found all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct found look(size_t from, size_t to) {
    struct found found = {0, 0};
    for (size_t i = from; i < to; i++) {
        found.lines += text[i] == '\n';
        found.digits += text[i] >= '0' && text[i] <= '9';
    }
    return found;
}

static void *work(void *end) {
    struct found found = end != NULL ? look(0, size / 2) : look(size / 2, size);
    pthread_mutex_lock(&lock);
    all.lines += found.lines;
    all.digits += found.digits;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    int file = argc > 1 ? open(argv[1], O_RDONLY) : 0;
    if (file < 0)
        return 2;
    size_t room = 4;
    ssize_t more;
    text = malloc(room);
    while ((more = read(file, text + size, room - size)) > 0) {
        size += (size_t)more;
        if (size == room) {
            room *= 2;
            text = realloc(text, room);
        }
    }
    if (file != 0)
        close(file);
    pthread_t threads[2];
    int count = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? 2 : 0;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, i == 0 ? text : NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(text);
#ifdef WRONG
    assert(all.lines == all.digits);
#endif
    assert(all.lines == 4 && all.digits == 5);
    return 0;
}
