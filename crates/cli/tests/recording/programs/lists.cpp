// Lists are turned around, sorted and exchanged by two threads: under a lock, or with an argument without one.
#include <list>
#include <mutex>
#include <thread>

static std::mutex guard;
static std::list<int> list, spare;

static void apart(int number)
{
    for (int round = 0; round < 2; round++) {
        std::lock_guard<std::mutex> held(guard);
        list.push_back(number);
        list.swap(spare);
        spare.push_front(-number);
        spare.reverse();
        spare.sort();
    }
}

static void at_once()
{
    list.reverse(); // Here is the race. (One element is the same both ways.)
}

int main(int count, char **)
{
    list.push_back(0);
    if (count > 1) {
        std::thread one(at_once), other(at_once);
        one.join();
        other.join();
        return 0;
    }
    std::thread one(apart, 1), other(apart, 2);
    one.join();
    other.join();
    return list.size() + spare.size() == 9 ? 0 : 1;
}
