import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Logger } from 'pino';

import type { Metrics } from './metrics.js';

interface OperationsOptions {
  /** Without one, `start` does nothing; 0 is any free port. */
  readonly port: number | undefined;
  /** Whether another port will do if that one is taken. */
  readonly orAnyPort?: boolean;
  readonly host: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The reason why the process should be started again; undefined: it is alive. Without it, a process that answers is alive. */
  readonly dead?: () => Promise<string | undefined>;
  /** The reason why the process should get no work now; undefined: it is ready. */
  readonly unready: () => Promise<string | undefined>;
}

/**
 * Answers orchestrators and Prometheus, on a port of its own. `/health/live` and `/health/ready` give 200, or 503 with
 * a reason, and `/metrics` the metrics.
 */
export class OperationsServer {
  readonly #options: OperationsOptions;
  #server: Server | undefined;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /** Rejects when the port is taken, unless another one will do. */
  async start(): Promise<void> {
    const { port, orAnyPort = false, host, log } = this.#options;
    if (port === undefined) return;
    const server = createServer({ requestTimeout: 5_000, keepAliveTimeout: 1_000 }, (request, response) => {
      void this.#answer(request, response);
    });
    this.#server = server;
    try {
      await once(server.listen(port, host), 'listening');
    } catch (error) {
      if (!orAnyPort || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      await once(server.listen(0, host), 'listening');
    }
    const { address, port: bound } = server.address() as AddressInfo;
    log.info({ address, port: bound }, 'health checks and metrics are answered');
  }

  stop(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
    this.#server = undefined;
  }

  async #answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, text: string, type = 'application/json'): void => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(text);
    };
    const state = (reason: string | undefined): void =>
      send(reason === undefined ? 200 : 503, JSON.stringify({ status: reason ?? 'ok' }));
    const { metrics, dead, unready, log } = this.#options;
    try {
      if (method !== 'GET' && method !== 'HEAD') send(405, JSON.stringify({ status: 'method not allowed' }));
      else if (url === '/health/live') {
        const reason = await dead?.();
        if (reason !== undefined) log.error({ reason }, 'not alive');
        state(reason);
      } else if (url === '/health/ready') state(await unready());
      else if (url === '/metrics') send(200, await metrics.text(), metrics.registry.contentType);
      else send(404, JSON.stringify({ status: 'not found' }));
    } catch (err) {
      log.error({ err, url }, 'operations');
      send(500, JSON.stringify({ status: 'failed' }));
    }
  }
}
