// OpenMP with objects: copies for threads and tasks, exceptions inside of regions.

#include <omp.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

struct Counter {
  int count = 1;
  Counter() = default;
  Counter(const Counter &other) : count(other.count) {}
  ~Counter() { count = -1; }
};

static Counter own;
#pragma omp threadprivate(own)

int main() {
  std::vector<int> results(20);
  std::string text = "abc";
  Counter counter;

#pragma omp parallel for num_threads(3) schedule(dynamic, 3) firstprivate(text, counter)
  for (size_t i = 0; i < results.size(); i++)
    results[i] = int(text.size()) + counter.count;
  for (int result : results)
    CHECK(result == 4);

  int caught = 0;
#pragma omp parallel num_threads(3) reduction(+ : caught)
  {
    try {
      throw std::runtime_error("inside");
    } catch (std::exception &) {
      caught++;
    }
    own.count++;
    CHECK(own.count == 2);
  }
  CHECK(caught == 3);

  int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < 3; i++) {
#pragma omp task firstprivate(counter, text) shared(sum)
    {
#pragma omp critical
      sum += counter.count + int(text.size());
    }
  }
  CHECK(sum == 12);
  return 0;
}
