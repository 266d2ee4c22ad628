// Constructs of C++ whose values the walk must follow, or guard.

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static int number = 3, caught, count;
static std::map<int, std::string> names;
static std::vector<int> numbers;
static std::atomic<int> tickets{0};
static thread_local int depth;

struct Shape {
  virtual ~Shape() = default;
  virtual int area(int side) const = 0;
};

struct Square : Shape {
  int area(int side) const override { return side * side; }
};

struct Line : Shape {
  int area(int side) const override {
    if (side > 100) throw std::runtime_error("too long");
    return 2 * side;
  }
};

static int &initialised() {
  static int value = [] { return count + 5; }();
  return value;
}

template <class T> static T twice(T value) { return value + value; }

static int recursive(int left) {
  depth++;
  return left <= 1 ? number : recursive(left - 1);
}

static void work(int me, std::function<int(int)> function, std::shared_ptr<Shape> shape) {
  for (int i = 0; i < 3; i++) {
    try {
      std::lock_guard<std::mutex> guard(lock);
      number = twice(number) + (shape->area(me) + function(i));
      names[i] += "x";
      numbers.push_back(number + i);
      std::sort(numbers.begin(), numbers.end());
      count = number + 5;
      initialised() += number & 1;
      if (i == 1) throw std::logic_error("one");
    } catch (const std::logic_error &) {
      std::lock_guard<std::mutex> guard(lock);
      caught += recursive(3);
    }
    tickets.fetch_add(number % 7, std::memory_order_relaxed);
  }
}

int main() {
  std::shared_ptr<Shape> square = std::make_shared<Square>(), line = std::make_shared<Line>();
  int captured = 4;
  std::thread first(work, 1, [captured](int i) { return i + captured; }, square);
  std::thread second(work, 2, [&](int i) { return i * captured; }, line);
  first.join();
  second.join();
  alignas(Square) char room[sizeof(Square)];
  Shape *placed = new (room) Square;
  int area = placed->area(2);
  placed->~Shape();
  return area == 4 && numbers.size() == 6 && names.size() == 3 && caught != 0 && count != 0 ? 0 : 99;
}
