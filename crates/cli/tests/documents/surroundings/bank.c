// The program of the pages that speak of `./program`: a bank that locks its balance, and forgets
// to lock its statistics. The pages ask about lines 12 and 40, which both lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;
static int deposits;

static void deposit(int amount) {
  pthread_mutex_lock(&lock);
  balance += amount;
  pthread_mutex_unlock(&lock);
  deposits++;
}

static int withdraw(int amount);

static void *customer(void *argument) {
  int amount = *(int *)argument;
  if (amount > 0)
    deposit(amount);
  else
    withdraw(-amount);
  return NULL;
}

int main(void) {
  int amounts[] = {10, 20, -30};
  pthread_t customers[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&customers[i], NULL, customer, &amounts[i]);
  for (int i = 0; i < 3; i++)
    pthread_join(customers[i], NULL);
  printf("balance %d\n", balance);
}

static int withdraw(int amount) {
  pthread_mutex_lock(&lock);
  balance -= amount;
  int left = balance;
  pthread_mutex_unlock(&lock);
  return left;
}
