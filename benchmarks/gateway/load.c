/* A load generator that is never the bottleneck: one thread, epoll, each connection asks again when it was answered.
 *
 *     load PORT CONNECTIONS SECONDS BODY_FILE KEY [WARM_SECONDS]
 *
 * Prints one line of JSON: requests, errors, seconds, latency of whole answers, time to the first byte of a body, chunks
 * and their delay (from the time that the mock engine wrote into each). What began in the warm seconds does not count.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HELD = 16384, MOST = 4000000 };
enum framing { NONE, LENGTH, CHUNKED, UNTIL_CLOSE };

typedef struct {
    int fd, wants_room, is_timed, has_begun, status;
    size_t sent;
    int64_t asked;
    char head[HELD];
    int head_len;
    enum framing framing;
    int64_t left; /* of the body, or of the current chunk */
    char line[32];
    int line_len, is_last, is_behind_chunk;
    char event[HELD]; /* the end of what has come, from the last "data:" on */
    int event_len;
} Conn;

typedef struct {
    uint32_t *values;
    long n;
} Times;

static int epoll_fd, port;
static char *request;
static size_t request_len;
static int64_t counted_from;
static long answers, errors, chunks;
static Times latency, first_byte, delay;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void note(Times *times, int64_t microseconds) {
    if (times->n < MOST)
        times->values[times->n++] = microseconds > 0 ? (uint32_t)microseconds : 0;
}

static void send_on(Conn *c) {
    while (c->sent < request_len) {
        ssize_t n = send(c->fd, request + c->sent, request_len - c->sent, MSG_NOSIGNAL);
        if (n < 0)
            break;
        c->sent += n;
    }
    int wants_room = c->sent < request_len;
    if (wants_room != c->wants_room) {
        struct epoll_event e = {EPOLLIN | (wants_room ? EPOLLOUT : 0), {.ptr = c}};
        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
        c->wants_room = wants_room;
    }
}

static void ask(Conn *c) {
    c->asked = now();
    c->is_timed = c->asked >= counted_from;
    c->sent = c->has_begun = c->status = c->head_len = c->line_len = c->is_last = c->is_behind_chunk = c->event_len = 0;
    c->framing = NONE;
}

static void dial(Conn *c) {
    int on = 1;
    struct sockaddr_in where = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {0}};
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connect(c->fd, (void *)&where, sizeof where);
    struct epoll_event e = {EPOLLIN | EPOLLOUT, {.ptr = c}};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e);
    c->wants_room = 1;
    ask(c);
}

/* Whole events are counted, the rest is kept for the next bytes. */
static void count_events(Conn *c, int64_t t) {
    char *from = c->event, *stop = c->event + c->event_len, *blank;
    while ((blank = memmem(from, stop - from, "\n\n", 2))) {
        if (t >= counted_from && memmem(from, blank - from, "data: ", 6)) {
            chunks++;
            char *said = memmem(from, blank - from, "\" T0", 4);
            if (said)
                note(&delay, t - strtoll(said + 3, NULL, 10));
        }
        from = blank + 2;
    }
    memmove(c->event, from, stop - from);
    c->event_len = (int)(stop - from);
}

static void take(Conn *c, const char *data, int64_t n, int64_t t) {
    if (!c->has_begun && n > 0) {
        c->has_begun = 1;
        if (c->is_timed)
            note(&first_byte, t - c->asked);
    }
    while (n > 0) {
        int64_t room = HELD - c->event_len, m = n < room ? n : room;
        memcpy(c->event + c->event_len, data, m);
        c->event_len += (int)m;
        data += m, n -= m;
        count_events(c, t);
        if (c->event_len == HELD)
            c->event_len = 0; /* a document, no stream */
    }
}

static int take_head(Conn *c, const char *data, int n) {
    int m = n < HELD - 1 - c->head_len ? n : HELD - 1 - c->head_len, old = c->head_len;
    memcpy(c->head + old, data, m);
    c->head[c->head_len += m] = 0;
    char *stop = strstr(c->head, "\r\n\r\n"), *length;
    if (!stop)
        return n;
    *stop = 0;
    c->status = atoi(c->head + 9);
    c->framing = UNTIL_CLOSE;
    if ((length = strcasestr(c->head, "\r\ncontent-length:")))
        c->framing = LENGTH, c->left = atoll(length + 17);
    if (strcasestr(c->head, "\r\ntransfer-encoding: chunked"))
        c->framing = CHUNKED, c->left = 0;
    return (int)(stop + 4 - c->head) - old;
}

/* A line between chunks: a size, or the end of one. How many bytes it took. */
static int take_line(Conn *c, const char *data, int n) {
    const char *stop = memchr(data, '\n', n);
    int m = stop ? (int)(stop + 1 - data) : n;
    if (c->line_len + m < (int)sizeof c->line) {
        memcpy(c->line + c->line_len, data, m);
        c->line[c->line_len += m] = 0;
    }
    if (!stop)
        return m;
    if (c->is_behind_chunk)
        c->is_behind_chunk = 0;
    else if (!c->is_last)
        c->is_last = (c->left = strtoll(c->line, NULL, 16)) == 0;
    else
        c->framing = NONE;
    c->line_len = 0;
    return m;
}

/* Whether the answer is whole. */
static int hear(Conn *c, const char *data, int n, int64_t t) {
    while (n > 0) {
        int m;
        if (c->framing == NONE)
            m = take_head(c, data, n);
        else if (c->framing == CHUNKED && c->left == 0)
            m = take_line(c, data, n);
        else {
            m = c->framing == UNTIL_CLOSE || n < c->left ? n : (int)c->left;
            take(c, data, m, t);
            c->left -= m;
            c->is_behind_chunk = c->framing == CHUNKED && c->left == 0;
        }
        data += m, n -= m;
        if (c->is_last && c->framing == NONE)
            return 1;
        if (c->framing == LENGTH && c->left == 0)
            return 1;
    }
    return 0;
}

static void end_answer(Conn *c, int64_t t, int is_whole) {
    if (!c->is_timed)
        return;
    if (!is_whole || c->status != 200) {
        errors++;
        return;
    }
    answers++;
    note(&latency, t - c->asked);
}

static void serve(Conn *c, uint32_t events) {
    static char data[1 << 17];
    if (events & EPOLLOUT)
        send_on(c);
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    ssize_t n = recv(c->fd, data, sizeof data, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    int64_t t = now();
    if (n <= 0) {
        end_answer(c, t, n == 0 && c->framing == UNTIL_CLOSE);
        close(c->fd);
        dial(c);
    } else if (hear(c, data, (int)n, t)) {
        end_answer(c, t, 1);
        ask(c);
        send_on(c);
    }
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static double at(Times *times, double share) {
    return times->n ? times->values[(long)((double)(times->n - 1) * share)] / 1000.0 : -1;
}

static char *read_file(const char *path, long *n) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    char *text = malloc(*n = ftell(file));
    rewind(file);
    if (fread(text, 1, *n, file) != (size_t)*n)
        exit(1);
    fclose(file);
    return text;
}

int main(int count, char **given) {
    if (count < 6)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    port = atoi(given[1]);
    int connections = atoi(given[2]), begun = 0;
    double seconds = atof(given[3]), warm = count > 6 ? atof(given[6]) : 0.5;
    long body_len;
    char *body = read_file(given[4], &body_len);
    request = malloc(body_len + 1024);
    request_len = sprintf(request,
                          "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: load/1\r\n"
                          "Accept: */*\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                          "Content-Length: %ld\r\n\r\n",
                          port, given[5], body_len);
    memcpy(request + request_len, body, body_len);
    request_len += body_len;
    Times *all[] = {&latency, &first_byte, &delay};
    for (int i = 0; i < 3; i++)
        all[i]->values = malloc(sizeof(uint32_t) * MOST);
    epoll_fd = epoll_create1(0);
    Conn *conns = calloc(connections, sizeof *conns);
    int64_t started = now(), spread = connections > 50 ? 200000 : 20000;
    counted_from = started + (int64_t)(warm * 1e6);
    int64_t until = counted_from + (int64_t)(seconds * 1e6);
    struct epoll_event events[256];
    for (int64_t t = started; t < until; t = now()) {
        while (begun < connections && t - started >= spread * begun / connections)
            dial(&conns[begun++]);
        int n = epoll_wait(epoll_fd, events, 256, begun < connections ? 1 : 20);
        for (int i = 0; i < n; i++)
            serve(events[i].data.ptr, events[i].events);
    }
    double took = (double)(now() - counted_from) / 1e6;
    for (int i = 0; i < 3; i++)
        qsort(all[i]->values, all[i]->n, sizeof(uint32_t), ascending);
    printf("{\"answers\":%ld,\"errors\":%ld,\"seconds\":%.3f,\"per_second\":%.1f,\"latency_ms\":%.3f,"
           "\"latency_p99_ms\":%.3f,\"first_byte_ms\":%.3f,\"chunks\":%ld,\"chunks_per_second\":%.1f,"
           "\"delay_ms\":%.3f,\"delay_p99_ms\":%.3f}\n",
           answers, errors, took, answers / took, at(&latency, .5), at(&latency, .99), at(&first_byte, .5), chunks,
           chunks / took, at(&delay, .5), at(&delay, .99));
    return 0;
}
