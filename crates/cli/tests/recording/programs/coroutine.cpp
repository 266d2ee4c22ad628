// A coroutine, whose frame is not that of any call.

#include <coroutine>
#include <mutex>
#include <thread>

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

static std::mutex lock;
static int number = 1;

static Task steps() {
  for (int i = 0; i < 2; i++) {
    {
      std::lock_guard<std::mutex> guard(lock);
      number = number * 3 + i;
    }
    co_await std::suspend_always{};
  }
}

static void work() {
  Task task = steps();
  while (!task.handle.done()) {
    task.handle.resume();
    std::lock_guard<std::mutex> guard(lock);
    number += number & 3;
  }
  task.handle.destroy();
}

int main() {
  std::thread first(work), second(work);
  first.join();
  second.join();
  return number != 0 ? 0 : 99;
}
