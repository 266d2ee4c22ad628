// What is made once: by std::call_once, and as a variable of a function. WRONG looks by itself.
#include <cassert>
#include <memory>
#include <mutex>
#include <thread>

struct Table {
    int size = 3;
};

static std::once_flag once;
static std::shared_ptr<Table> shared;

static void make() {
    shared = std::make_shared<Table>();
}

static Table &table() {
    static Table own;
    return own;
}

static void use() {
#ifdef WRONG
    if (!shared)
        make();
#else
    std::call_once(once, make);
#endif
    std::shared_ptr<Table> mine = shared;
    assert(mine->size == table().size);
}

int main() {
    std::thread one(use), other(use);
    one.join();
    other.join();
}
