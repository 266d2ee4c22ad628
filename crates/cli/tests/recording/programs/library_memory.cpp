// Two threads share something of C++'s library, under a lock or because it is atomic: one has
// written x before, the other one reads x only if it finds what the first one did. Nothing here
// races. The argument says what is meant; without one, all ways are printed.
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory_resource>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <thread>

namespace {

int x;
std::mutex lock;
std::string *text;
std::stringstream *stream;

struct Large {
  long a, b, c;
};
std::atomic<Large> large;

void change() { (*text)[0] = '1'; }
bool converts() { return std::stoi(*text) == 1; }

bool converts_double() {
  double found = 0;
  std::from_chars(text->data(), text->data() + text->size(), found);
  return found == 1;
}

bool prints() {
  std::stringstream to;
  to << *text;
  int found = 0;
  to >> found;
  return found == 1;
}

void print() { *stream << 42; }

bool reads() {
  int found = 0;
  *stream >> found;
  stream->clear();
  return found == 42;
}

bool is_behind() { return stream->tellp() > 0; }
void handler() {}
void set_handler() { std::set_new_handler(handler); }
bool has_handler() { return std::get_new_handler() == handler; }
void set_end() { std::set_terminate(handler); }
bool has_end() { return std::get_terminate() == handler; }
void set_resource() { std::pmr::set_default_resource(std::pmr::null_memory_resource()); }

bool has_resource() {
  return std::pmr::get_default_resource() == std::pmr::null_memory_resource();
}

// What compiled code reads of a stream in place.
void end_stream() {
  int found;
  *stream >> found;
}

bool is_at_end() { return stream->eof(); }
void fill_stream() { stream->fill('z'); }
bool is_filled() { return stream->fill() == 'z'; }
bool is_hashed() { return std::hash<std::string>()(*text) == std::hash<std::string>()("1"); }

bool streams() {
  std::istringstream from(*text);
  int found = 0;
  from >> found;
  return found == 1;
}

// The steps through a tree are the library's.
std::map<int, int> tree{{0, 0}, {1, 1}, {2, 2}};
void erase() { tree.erase(1); }
bool is_erased() { return std::next(tree.begin())->first == 2; }
bool is_erased_backwards() { return std::prev(std::prev(tree.end()))->first == 0; }

void store_large() { large.store({1, 2, 3}); }
bool is_large() { return large.load().a == 1; }

const struct Way {
  const char *name;
  void (*tell)();
  bool (*learn)();
  bool locks;
} ways[] = {
    {"stoi", change, converts, true},
    {"from_chars", change, converts_double, true},
    {"printed text", change, prints, true},
    {"stream", print, reads, true},
    {"place in a stream", print, is_behind, true},
    {"end of a stream", end_stream, is_at_end, true},
    {"state of a stream", fill_stream, is_filled, true},
    {"hash", change, is_hashed, true},
    {"stream of a string", change, streams, true},
    {"tree", erase, is_erased, true},
    {"tree backwards", erase, is_erased_backwards, true},
    {"new handler", set_handler, has_handler, false},
    {"terminate handler", set_end, has_end, false},
    {"memory resource", set_resource, has_resource, false},
    {"large atomic", store_large, is_large, false},
};

} // namespace

int main(int count, char **arguments) {
  for (const Way &way : ways) {
    if (count == 1)
      std::puts(way.name);
    else if (std::strcmp(arguments[1], way.name) == 0) {
      text = new std::string("0");
      stream = new std::stringstream;
      std::thread tells([&] {
        x = 1;
        std::unique_lock<std::mutex> held(lock, std::defer_lock);
        if (way.locks)
          held.lock();
        way.tell();
      });
      std::thread learns([&] {
        std::unique_lock<std::mutex> held(lock, std::defer_lock);
        if (way.locks)
          held.lock();
        bool has_learnt = way.learn();
        if (way.locks)
          held.unlock();
        if (has_learnt)
          std::printf("x is %d\n", x);
      });
      tells.join();
      learns.join();
    }
  }
  return 0;
}
