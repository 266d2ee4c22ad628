/* Compiled without foretrace: memory is read and written here, and nobody sees it. */

int foreign_read(const int *from) { return *from; }

void foreign_write(int *to, int value) { *to = value; }
