/* Three threads compute lines of a report, which are put down one after the
 * other.
 *
 * Corrected: the lines are put down in the order of the iterations. */
#include <assert.h>
#include <stdio.h>

static int lines[6], count;

int main(void)
{
#pragma omp parallel for num_threads(3) schedule(static, 1) ordered
    for (int i = 0; i < 6; i++) {
        int line = 10 * i;
#pragma omp ordered
        lines[count++] = line;
    }

    for (int i = 0; i < 6; i++)
        assert(lines[i] == 10 * i);
    printf("%d lines\n", count);
    return 0;
}
