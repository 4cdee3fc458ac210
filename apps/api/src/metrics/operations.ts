import { Metrics, OperationsServer } from '@mortise/app-common/operations';
import type { RedisClient } from '@mortise/redis';
import type { INestApplicationContext } from '@nestjs/common';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { Transfers } from '../files/transfers.js';
import { HealthController } from '../health/health.controller.js';
import { Connections } from '../http/connections.js';
import { OpenWaits } from '../limits/open-waits.js';
import { Usage } from '../limits/usage.js';
import { LiveStreams } from '../messaging/live/live-streams.js';
import { Problem } from '../problems/problem.js';
import { REDIS } from '../tokens.js';
import { watchOpen } from './http-metrics.js';
import { watchUsage } from './usage-metrics.js';

/** The server of METRICS_PORT. The caller starts and stops it. */
export function operationsOf(app: INestApplicationContext, config: Config, log: Logger): OperationsServer {
  const metrics = app.get(Metrics);
  metrics.watch(app.get<RedisClient>(REDIS), config.MORTISE_PREFIX);
  const [streams, waits, transfers] = [app.get(LiveStreams), app.get(OpenWaits), app.get(Transfers)];
  const connections = app.get(Connections);
  watchOpen(metrics, {
    connections: () => connections.size,
    streams: () => streams.size,
    waits: () => waits.size,
    transfers: () => transfers.size,
  });
  watchUsage(metrics, app.get(Usage));
  const health = app.get(HealthController);
  return new OperationsServer({
    port: config.METRICS_PORT,
    host: config.METRICS_HOST,
    log,
    metrics,
    unready: () =>
      health.ready().then(
        () => undefined,
        (error: unknown) => (error instanceof Problem ? error.slug : 'redis is not reachable'),
      ),
  });
}
