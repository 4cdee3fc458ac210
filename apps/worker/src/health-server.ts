import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { RedisClient } from '@mortise/redis';
import { TIMED_OUT, waitFor } from '@mortise/redis';
import type { Logger } from 'pino';

const PING_TIMEOUT_MS = 1_000;

/**
 * Answers orchestrators. `/health/live`: 200 while the process answers. `/health/ready`: 200 when Redis answers within a
 * second and the worker isn't draining, otherwise 503. Listens on loopback by default.
 */
export class HealthServer {
  readonly #redis: RedisClient;
  readonly #port: number | undefined;
  readonly #host: string;
  readonly #log: Logger;
  #server: Server | undefined;
  #isDraining = false;

  /** @param port Without one, `start` does nothing; 0 is any free port. */
  constructor(redis: RedisClient, port: number | undefined, host: string, log: Logger) {
    this.#redis = redis;
    this.#port = port;
    this.#host = host;
    this.#log = log;
  }

  /** Rejects when the port is taken. */
  async start(): Promise<void> {
    if (this.#port === undefined) return;
    this.#server = createServer({ requestTimeout: 5_000, keepAliveTimeout: 1_000 }, (request, response) => {
      void this.#answer(request, response);
    });
    this.#server.listen(this.#port, this.#host);
    await once(this.#server, 'listening');
    const { address, port } = this.#server.address() as AddressInfo;
    this.#log.info({ address, port }, 'health checks are answered');
  }

  /** Reports the worker as not ready from now on. */
  drain(): void {
    this.#isDraining = true;
  }

  stop(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
    this.#server = undefined;
  }

  async #answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, text: string): void => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(JSON.stringify({ status: text }));
    };
    if (method !== 'GET' && method !== 'HEAD') reply(405, 'method not allowed');
    else if (url === '/health/live') reply(200, 'ok');
    else if (url !== '/health/ready') reply(404, 'not found');
    else if (this.#isDraining) reply(503, 'draining');
    else if (await this.#hasRedis()) reply(200, 'ok');
    else reply(503, 'redis is not reachable');
  }

  async #hasRedis(): Promise<boolean> {
    if (this.#redis.status !== 'ready') return false;
    try {
      return (await waitFor(this.#redis.call('ping', []), { waitMs: PING_TIMEOUT_MS })) !== TIMED_OUT;
    } catch {
      return false;
    }
  }
}
