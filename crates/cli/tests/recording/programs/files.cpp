// Files that the C++ library changes, and a socket that is bound to a file. A second run would find a longer log. Then threads race.

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "check.h"

static int total;

static void bind_to_file() {
  sockaddr_un address{};
  struct stat found;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, "socket");
  unlink("socket");
  CHECK(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 && listen(fd, 1) == 0);
  CHECK(chmod("socket", 0600) == 0 && stat("socket", &found) == 0 && S_ISSOCK(found.st_mode));
}

int main(int count, char **arguments) {
  namespace fs = std::filesystem;
  CHECK(count > 2 && chdir(arguments[2]) == 0);
  std::ofstream("old", std::ios::app) << "more";
  fs::create_directories("one/two");
  std::ofstream("one/two/first") << 1;
  fs::rename("one/two/first", "one/two/second");
  CHECK(fs::exists("one/two/second") && fs::remove("one/two/second"));
  bind_to_file();
  std::thread other([] { total++; }); // Here is the race.
  total++;
  other.join();
  std::cout << "drawn " << fs::file_size("old") << std::endl;
  return 0;
}
