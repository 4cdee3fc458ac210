// A network that misbehaves on command, between a client and a server. Bytes are passed as they come; the proxy knows nothing of
// Redis. Rejected: iptables and tc, which need root and Linux.

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

import { freePort, releasePort } from '@mortise/server-process';

import { Lane, type LaneMode } from './lane.js';

interface Link {
  client: Socket;
  upstream: Socket;
  requests: Lane;
  replies: Lane;
  /** Whether it has known a mode that drops bytes. */
  isLossy: boolean;
  /** Ends the connection in place of the next reply. */
  loseReply: (() => void) | undefined;
}

const LISTEN_ATTEMPTS = 20;

/** Starts a proxy on a free port of 127.0.0.1 to a port of 127.0.0.1. */
export async function startProxy(target: { port: number }): Promise<TcpProxy> {
  for (let attempt = 1; ; attempt += 1) {
    const proxy = new TcpProxy(await freePort(false), target.port);
    try {
      await proxy.restore();
      return proxy;
    } catch (error) {
      await proxy.stop();
      if (attempt === LISTEN_ATTEMPTS) throw error;
    }
  }
}

/**
 * A proxy whose modes hold for connections that exist and for new ones, until another mode or `restore()`. The modes
 * (`dropReplies`, `dropRequests`, `halfOpen`) replace each other; a delay is kept beside them.
 */
export class TcpProxy {
  readonly host = '127.0.0.1';
  readonly port: number;
  #target: number;
  readonly #links = new Set<Link>();
  #server: Server | undefined;
  #modes: { requests: LaneMode; replies: LaneMode } = { requests: 'pass', replies: 'pass' };
  #delays = { requestsMs: 0, repliesMs: 0 };
  /** How many requests pass before the one whose reply is lost, and whom to tell. */
  #loss: { passes: number; lost: () => void } | undefined;

  /** For this package: users call {@link startProxy}. */
  constructor(port: number, target: number) {
    this.port = port;
    this.#target = target;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** How many client connections there are. */
  get connections(): number {
    return this.#links.size;
  }

  /** Bytes that arrive from now on take so much longer, in their order. A direction that isn't named has no delay. */
  delay({ requestsMs = 0, repliesMs = 0 }: { requestsMs?: number; repliesMs?: number }): void {
    this.#delays = { requestsMs, repliesMs };
    for (const link of this.#links) this.#apply(link);
  }

  /** Connections from now on go to another port of 127.0.0.1, as when a name is given to another host; old ones stay. */
  aim({ port }: { port: number }): void {
    this.#target = port;
  }

  /** Requests reach the server, which executes them; what it answers is lost. */
  dropReplies(): void {
    this.#setModes('pass', 'drop');
  }

  /**
   * The server executes the `nth` request from now on, and its connection ends in place of the reply. Commands that a client sends in
   * one piece count as one request. Resolves when the server has replied; a later call replaces this one.
   */
  loseReply(nth = 1): Promise<void> {
    return new Promise((resolve) => {
      this.#loss = { passes: nth - 1, lost: resolve };
    });
  }

  /** Requests are lost. */
  dropRequests(): void {
    this.#setModes('drop', 'pass');
  }

  /** Nothing passes in either direction, not even the end of a connection; after `restore()`, all that was sent arrives. */
  halfOpen(): void {
    this.#setModes('hold', 'hold');
  }

  /** Destroys all connections, with what is under way in them. New ones are accepted. */
  cut(): void {
    for (const link of this.#links) this.#destroy(link);
  }

  /** Destroys all connections, and refuses new ones (ECONNREFUSED) until `restore()`. */
  refuse(): void {
    this.#server?.close();
    this.#server = undefined;
    this.cut();
  }

  /**
   * Passes everything again, without delay, and accepts connections. Connections that existed while requests or replies were
   * dropped are destroyed: a client would take the reply to its next command for the one that was lost (or that would have
   * been, and is under way now).
   */
  async restore(): Promise<void> {
    this.#delays = { requestsMs: 0, repliesMs: 0 };
    for (const link of this.#links) {
      if (link.isLossy || link.client.destroyed || link.upstream.destroyed) this.#destroy(link);
    }
    this.#setModes('pass', 'pass');
    for (const { requests, replies } of this.#links) {
      requests.hurry();
      replies.hurry();
    }
    if (this.#server === undefined) await this.#listen();
  }

  /** Destroys all connections and ends the proxy. Idempotent. */
  async stop(): Promise<void> {
    const closed = this.#server && once(this.#server, 'close');
    this.refuse();
    releasePort(this.port);
    await closed;
  }

  #setModes(requests: LaneMode, replies: LaneMode): void {
    this.#modes = { requests, replies };
    for (const link of this.#links) this.#apply(link);
  }

  #apply(link: Link): void {
    const { requests, replies } = link;
    link.isLossy ||= Object.values(this.#modes).includes('drop');
    requests.delayMs = this.#delays.requestsMs;
    replies.delayMs = this.#delays.repliesMs;
    requests.mode = this.#modes.requests;
    replies.mode = this.#modes.replies;
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
      server.once('error', reject);
      server.listen({ host: this.host, port: this.port, exclusive: true }, () => {
        server.unref(); // a proxy that nobody stopped must not keep the process alive
        this.#server = server;
        resolve();
      });
    });
  }

  #accept(client: Socket): void {
    const upstream = connect({ host: this.host, port: this.#target, allowHalfOpen: true, noDelay: true });
    client.on('data', () => this.#requested(link));
    upstream.on('data', () => {
      if (link.loseReply === undefined) return;
      this.#destroy(link);
      link.loseReply();
    });
    const link: Link = {
      client,
      upstream,
      requests: new Lane(client, upstream),
      replies: new Lane(upstream, client),
      isLossy: false,
      loseReply: undefined,
    };
    this.#links.add(link);
    this.#apply(link);
    for (const socket of [client, upstream]) {
      socket.unref();
      socket.on('error', () => this.#failed(link));
      socket.on('close', () => this.#closed(link));
    }
  }

  #requested(link: Link): void {
    if (this.#loss === undefined) return;
    if (this.#loss.passes > 0) {
      this.#loss.passes -= 1;
      return;
    }
    link.loseReply = this.#loss.lost;
    link.replies.mode = 'drop';
    this.#loss = undefined;
  }

  /** An error of one side (reset, refused) reaches the other one only if bytes would. */
  #failed(link: Link): void {
    if (this.#modes.requests !== 'hold') this.#destroy(link);
  }

  #closed(link: Link): void {
    if (link.client.destroyed && link.upstream.destroyed) this.#destroy(link);
  }

  #destroy(link: Link): void {
    this.#links.delete(link);
    link.requests.close();
    link.replies.close();
    link.client.destroy();
    link.upstream.destroy();
  }
}
