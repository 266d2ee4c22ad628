// Two transfers in opposite directions, each with both accounts locked.
//
// Corrected: std::scoped_lock takes both without ever waiting for one while it
// holds the other.
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
    std::scoped_lock hold_both(from.guard, to.guard);
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
