/** The metrics of requests, and of what the process holds open. */
import type { Metrics } from '@mortise/app-common/operations';
import type { FastifyInstance } from 'fastify';
import { Gauge, Histogram } from 'prom-client';

/** From far below a round trip to Redis to the longest wait of a request. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Times every request. The route is a pattern, such as `/v1/queues/:queue`; requests to no route have the route `none`. */
export function timeRequests({ registry }: Metrics, server: FastifyInstance): void {
  const requests = new Histogram({
    name: 'mortise_http_request_seconds',
    help: 'Requests by method, route and status, until the answer is sent',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers: [registry],
  });
  server.addHook('onResponse', async ({ method, routeOptions, is404 }, reply) => {
    const route = is404 ? 'none' : (routeOptions.url ?? 'none');
    requests.observe({ method, route, status: String(reply.statusCode) }, reply.elapsedTime / 1_000);
  });
}

/** Adds what the process holds open: streams, waiting requests, transfers of files, connections. */
export function watchOpen({ registry }: Metrics, open: Readonly<Record<string, () => number>>): void {
  const gauge = new Gauge({
    name: 'mortise_http_open',
    help: 'Open connections, streams, waits and transfers, by kind',
    labelNames: ['kind'],
    registers: [registry],
    collect: () => {
      for (const [kind, count] of Object.entries(open)) gauge.set({ kind }, count());
    },
  });
}
