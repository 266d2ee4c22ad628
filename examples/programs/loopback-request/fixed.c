/* A client and a server in one process, over TCP: what the client writes before its request, the server reads behind it.
 *
 * The order is complete before the request is sent. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

static int listener;
static struct sockaddr_in address;
static int order;

static void *request(void *unused)
{
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    char byte = 1;
    ssize_t sent = 0;

    if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) {
        order = 1;
        order = 2;
        sent = send(connection, &byte, 1, 0);
    }
    return sent == 1 ? unused : NULL;
}

static void *serve(void *unused)
{
    int connection = accept(listener, NULL, NULL);
    char byte = 0;

    if (recv(connection, &byte, 1, 0) == 1)
        printf("order %d\n", order > 0);
    return unused;
}

int main(void)
{
    pthread_t client, server;
    socklen_t length = sizeof address;

    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0)
        return 1;
    getsockname(listener, (struct sockaddr *)&address, &length);
    pthread_create(&client, NULL, request, NULL);
    pthread_create(&server, NULL, serve, NULL);
    pthread_join(client, NULL);
    pthread_join(server, NULL);
    return 0;
}
