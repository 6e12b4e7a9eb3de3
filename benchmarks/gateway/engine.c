/* A mock OpenAI engine that is never the bottleneck: one thread, epoll, answers made once.
 *
 *     engine PORT:CHUNKS:PACE_US ...
 *
 * On each port a POST is answered at once with one document; when its body asks for a stream, with CHUNKS events, one
 * every PACE_US microseconds, or, with a pace of 0, as fast as they are taken. Each paced event says when it was written
 * ("T" and 16 digits, microseconds of CLOCK_MONOTONIC). When a client leaves amid a stream, "gone T" is printed.
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

enum { MOST_PORTS = 8, HIGH_WATER = 65536 };

typedef struct Conn Conn;

typedef struct {
    int chunks;
    int64_t pace;
    Conn *first, *last; /* waiting streams: as all have one pace, in the order in which they are due */
} Port;

struct Conn {
    int fd, is_listener, wants_room;
    Port *port;
    char head[16384];
    int head_len, in_body, is_stream;
    int64_t body_left;
    char *out;
    size_t out_len, out_off, out_size;
    int is_streaming, sent, is_queued;
    int64_t due;
    Conn *before, *after;
};

static int epoll_fd;
static char plain[2048];
static size_t plain_len;
static const char *STREAM_HEAD = "HTTP/1.1 200 OK\r\nserver: mock\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                                 "transfer-encoding: chunked\r\n\r\n";
static const char *ANSWER =
    "{\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":\"chat.completion\",\"created\":1764500000,"
    "\"model\":\"m1\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"The quick brown fox "
    "jumps over the lazy dog. The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy "
    "dog. The quick brown fox jumps over the lazy dog.\",\"tool_calls\":[]},\"logprobs\":null,\"finish_reason\":"
    "\"stop\"}],\"usage\":{\"prompt_tokens\":12,\"total_tokens\":62,\"completion_tokens\":50}}";

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void queue(Conn *c) {
    Port *p = c->port;
    c->before = p->last, c->after = NULL, c->is_queued = 1;
    if (p->last)
        p->last->after = c;
    else
        p->first = c;
    p->last = c;
}

static void unqueue(Conn *c) {
    Port *p = c->port;
    if (!c->is_queued)
        return;
    *(c->before ? &c->before->after : &p->first) = c->after;
    *(c->after ? &c->after->before : &p->last) = c->before;
    c->is_queued = 0;
}

static void end(Conn *c) {
    if (c->is_streaming) {
        printf("gone %lld\n", (long long)now());
        fflush(stdout);
    }
    unqueue(c);
    close(c->fd);
    free(c->out);
    free(c);
}

static void say(Conn *c, const char *text, size_t n) {
    if (c->out_off == c->out_len)
        c->out_off = c->out_len = 0;
    if (c->out_len + n > c->out_size)
        c->out = realloc(c->out, c->out_size = (c->out_len + n) * 2);
    memcpy(c->out + c->out_len, text, n);
    c->out_len += n;
}

static void say_chunk(Conn *c, const char *text) {
    char framed[1024];
    say(c, framed, snprintf(framed, sizeof framed, "%zx\r\n%s\r\n", strlen(text), text));
}

static void watch(Conn *c, int wants_room) {
    struct epoll_event e = {EPOLLIN | EPOLLRDHUP | (wants_room ? EPOLLOUT : 0), {.ptr = c}};
    if (c->wants_room != wants_room)
        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
    c->wants_room = wants_room;
}

/* -1 when the connection is broken */
static int flush(Conn *c) {
    while (c->out_off < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_off, c->out_len - c->out_off, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(c, 1);
            return 0;
        }
        if (n < 0)
            return -1;
        c->out_off += n;
    }
    watch(c, 0);
    return 0;
}

static void say_event(Conn *c) {
    char text[512];
    snprintf(text, sizeof text,
             "data: {\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":\"chat.completion.chunk\","
             "\"created\":1764500000,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" T%016lld \"},"
             "\"logprobs\":null,\"finish_reason\":null}]}\n\n",
             (long long)now());
    say_chunk(c, text);
    c->sent++;
}

static void say_end(Conn *c) {
    char text[512];
    snprintf(text, sizeof text,
             "data: {\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":\"chat.completion.chunk\","
             "\"created\":1764500000,\"model\":\"m1\",\"choices\":[],\"usage\":{\"prompt_tokens\":12,"
             "\"total_tokens\":%d,\"completion_tokens\":%d}}\n\n",
             12 + c->sent, c->sent);
    say_chunk(c, text);
    say_chunk(c, "data: [DONE]\n\n");
    say(c, "0\r\n\r\n", 5);
    c->is_streaming = 0;
}

static int flood(Conn *c) {
    while (c->is_streaming && !c->wants_room) {
        while (c->sent < c->port->chunks && c->out_len - c->out_off < HIGH_WATER)
            say_event(c);
        if (c->sent >= c->port->chunks)
            say_end(c);
        if (flush(c) < 0)
            return -1;
    }
    return 0;
}

static int answer(Conn *c) {
    if (!c->is_stream) {
        say(c, plain, plain_len);
        return flush(c);
    }
    say(c, STREAM_HEAD, strlen(STREAM_HEAD));
    c->sent = 0;
    c->is_streaming = 1;
    if (!c->port->pace)
        return flood(c);
    say_event(c);
    c->due = now() + c->port->pace;
    queue(c);
    return flush(c);
}

static int next_event(Conn *c) {
    unqueue(c);
    if (c->sent >= c->port->chunks) {
        say_end(c);
        return flush(c);
    }
    say_event(c);
    c->due += c->port->pace;
    queue(c);
    return flush(c);
}

static int64_t length_of(const char *head) {
    const char *field = strcasestr(head, "\r\ncontent-length:");
    return field ? atoll(field + 17) : 0;
}

/* One read's bytes; whether a body asks for a stream is looked for in each read alone, which is enough for our own. */
static int hear(Conn *c, char *data, int n) {
    while (n > 0) {
        if (!c->in_body) {
            int room = (int)sizeof c->head - 1 - c->head_len, m = n < room ? n : room, old = c->head_len;
            memcpy(c->head + old, data, m);
            c->head[c->head_len += m] = 0;
            char *stop = strstr(c->head, "\r\n\r\n");
            if (!stop)
                return m == n ? 0 : -1;
            int used = (int)(stop + 4 - c->head) - old;
            stop[0] = 0;
            c->body_left = length_of(c->head);
            c->in_body = 1, c->is_stream = 0, c->head_len = 0;
            data += used, n -= used;
        }
        int64_t m = n < c->body_left ? n : c->body_left;
        if (m && memmem(data, m, "\"stream\":true", 13))
            c->is_stream = 1;
        data += m, n -= m, c->body_left -= m;
        if (c->body_left == 0) {
            c->in_body = 0;
            if (answer(c) < 0)
                return -1;
        }
    }
    return 0;
}

static void add(int fd, Port *port, int is_listener) {
    Conn *c = calloc(1, sizeof *c);
    c->fd = fd, c->port = port, c->is_listener = is_listener;
    struct epoll_event e = {EPOLLIN | (is_listener ? 0 : EPOLLRDHUP), {.ptr = c}};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e);
}

static void welcome(Conn *listener) {
    int fd, on = 1;
    while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        add(fd, listener->port, 0);
    }
}

static int serve(Conn *c, uint32_t events) {
    static char data[1 << 18];
    if (events & (EPOLLERR | EPOLLHUP))
        return -1;
    if ((events & EPOLLOUT) && (flush(c) < 0 || (c->port->pace == 0 && flood(c) < 0)))
        return -1;
    if (!(events & (EPOLLIN | EPOLLRDHUP)))
        return 0;
    ssize_t n = recv(c->fd, data, sizeof data, 0);
    if (n < 0 && errno == EAGAIN)
        return 0;
    return n <= 0 ? -1 : hear(c, data, (int)n);
}

static void listen_on(int number, Port *port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    struct sockaddr_in where = {AF_INET, htons(number), {htonl(INADDR_LOOPBACK)}, {0}};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (void *)&where, sizeof where) || listen(fd, 4096)) {
        perror("bind");
        exit(1);
    }
    add(fd, port, 1);
}

static int milliseconds_to_wait(Port *ports, int n) {
    int64_t soonest = -1;
    for (int i = 0; i < n; i++)
        if (ports[i].first && (soonest < 0 || ports[i].first->due < soonest))
            soonest = ports[i].first->due;
    if (soonest < 0)
        return -1;
    int64_t left = soonest - now();
    return left <= 0 ? 0 : (int)((left + 999) / 1000);
}

int main(int count, char **given) {
    static Port ports[MOST_PORTS];
    int n = 0;
    signal(SIGPIPE, SIG_IGN);
    epoll_fd = epoll_create1(0);
    plain_len = snprintf(plain, sizeof plain,
                         "HTTP/1.1 200 OK\r\nserver: mock\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n"
                         "\r\n%s",
                         strlen(ANSWER), ANSWER);
    for (; n + 1 < count && n < MOST_PORTS; n++) {
        int number;
        long long pace;
        sscanf(given[n + 1], "%d:%d:%lld", &number, &ports[n].chunks, &pace);
        ports[n].pace = pace;
        listen_on(number, &ports[n]);
    }
    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(epoll_fd, events, 256, milliseconds_to_wait(ports, n));
        for (int i = 0; i < ready; i++) {
            Conn *c = events[i].data.ptr;
            if (c->is_listener)
                welcome(c);
            else if (serve(c, events[i].events) < 0)
                end(c);
        }
        for (int i = 0; i < n; i++)
            for (Conn *c = ports[i].first; c && c->due <= now(); c = ports[i].first)
                if (next_event(c) < 0)
                    end(c);
    }
}
