/* Threads that read one stream: each line reaches one of them, whoever comes first. WRONG thinks
 * that the first thread gets the first line. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *file;
static int lines, sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *which) {
    int number;
    while (fscanf(file, "%d", &number) == 1) {
#ifdef WRONG
        assert(which != NULL || number != 12);
#endif
        pthread_mutex_lock(&lock);
        lines++;
        sum += number;
        pthread_mutex_unlock(&lock);
    }
    return which;
}

int main(int argc, char **argv) {
    pthread_t first, second;
    file = fopen(argc > 1 ? argv[1] : "examples/runs/numbers.txt", "r");
    if (file == NULL)
        return 2;
    pthread_create(&first, NULL, take, NULL);
    pthread_create(&second, NULL, take, &lines);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(lines == 4 && sum == 30 && feof(file) && fgetc(file) == EOF);
    rewind(file);
    assert(fgetc(file) == '3');
    return fclose(file);
}
