/* Compiled without foretrace. */

void foreign_write(int *to, int value) { *to = value; }
