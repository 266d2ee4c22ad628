// Two transfers in opposite directions, each with both accounts locked.
//
// Wrong: a transfer locks the source and then the target. Opposite transfers take
// the two mutexes in opposite orders.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

struct Account {
    std::mutex guard;
    int balance = 100;
};

static void transfer(Account &from, Account &to, int amount)
{
    std::lock_guard<std::mutex> hold_from(from.guard);
    std::lock_guard<std::mutex> hold_to(to.guard); // the opposite transfer may hold it
    from.balance -= amount;
    to.balance += amount;
}

int main()
{
    Account alice, bob;
    std::thread there([&] { transfer(alice, bob, 10); });
    std::thread back([&] { transfer(bob, alice, 30); });

    there.join();
    back.join();
    assert(alice.balance == 120 && bob.balance == 80);
    std::printf("alice %d, bob %d\n", alice.balance, bob.balance);
    return 0;
}
