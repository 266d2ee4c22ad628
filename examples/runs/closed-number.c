/* One thread closes a file while another one is about to read from it. That is no use of freed
 * memory: the read may fail, and whether the number is then that of another file is not known. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int file;

static void *take(void *unused) {
    char byte;
    if (read(file, &byte, 1) == 1 && byte != '3')
        return unused;
    return NULL;
}

int main(void) {
    pthread_t reader;
    file = open("examples/runs/numbers.txt", O_RDONLY);
    pthread_create(&reader, NULL, take, NULL);
    close(file);
    return pthread_join(reader, NULL);
}
