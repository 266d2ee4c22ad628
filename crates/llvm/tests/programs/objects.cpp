// Exceptions, virtual calls, static constructors, coroutines.
#include <coroutine>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

struct Base {
  int offset = 1;
  virtual int apply(int n) = 0;
  virtual ~Base() = default;
};

struct Add : Base {
  int apply(int n) override { return n + offset; }
};

struct Scale : virtual Base {
  int apply(int n) override { return n * 2 + offset; }
};

struct Checked : Scale {
  int apply(int n) override {
    try {
      return Scale::apply(n) + std::string("hello").at(n);
    } catch (const std::out_of_range &error) {
      return std::strlen(error.what()) > 0;
    }
  }
};

template <class T> struct Holder {
  static T value;
};
template <class T> T Holder<T>::value = T(40) + T(std::string("ab").size());

static std::string global = "static" + std::to_string(4);
thread_local std::string own = "own";
int unwound;

static int risky(int n) {
  if (n > 2)
    throw std::runtime_error("n is " + std::to_string(n));
  return n;
}

static int guarded(int n) {
  struct Guard {
    ~Guard() { unwound++; }
  } guard;
  try {
    return risky(n);
  } catch (const std::runtime_error &error) {
    std::printf("%s\n", error.what());
    return -1;
  }
}

static int &once() {
  static int value = risky(1);
  return value;
}

struct Generator {
  struct promise_type {
    int value;
    Generator get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int next) {
      value = next;
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
  ~Generator() { handle.destroy(); }
};

static Generator sums(int count) {
  int sum = 0;
  for (int i = 0; i < count; i++)
    co_yield sum += i;
}

int main() {
  std::unique_ptr<Base> objects[] = {std::make_unique<Add>(), std::make_unique<Scale>(), std::make_unique<Checked>()};
  for (auto &object : objects)
    std::printf("%d %d\n", object->apply(2), object->apply(77));
  std::printf("%d %g %s %s\n", Holder<int>::value, Holder<double>::value, global.c_str(), own.c_str());
  std::printf("%d %d\n", guarded(1), guarded(5));
  once()++;
  std::printf("%d %d\n", once(), unwound);

  std::map<std::string, std::function<int(int)>> functions;
  int captured = 3;
  functions["add"] = [&](int n) { return n + captured; };
  functions["double"] = [](int n) { return n * 2; };
  for (auto &[name, function] : functions)
    std::printf("%s %d\n", name.c_str(), function(4));

  Generator generator = sums(5);
  while (generator.handle.resume(), !generator.handle.done())
    std::printf("%d ", generator.handle.promise().value);
  std::printf("\n");
  try {
    try {
      risky(9);
    } catch (std::exception &) {
      throw;
    }
  } catch (std::exception &error) {
    std::printf("again %s\n", error.what());
  }
}
