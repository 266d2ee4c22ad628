/* Compiled without foretrace: memory is read and written here, and nobody sees it. */

int foreign_read(const int *from) { return *from; }

void foreign_write(int *to, int value) { *to = value; }

/* What is behind an address that is behind one. */
int foreign_read_behind(int *const *from) { return **from; }

/* An address that is kept. */
static int *kept;

void foreign_keep(int *where) { kept = where; }

int foreign_read_kept(void) { return *kept; }

void foreign_write_kept(int value) { *kept = value; }
