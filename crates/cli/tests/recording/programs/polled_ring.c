/* An io_uring whose submissions the kernel polls: to submit is a store, and no call. */
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  struct io_uring_params parameters = {.flags = IORING_SETUP_SQPOLL};
  syscall(SYS_io_uring_setup, 8, &parameters);
  return 0;
}
