import 'reflect-metadata';

import { Metrics } from '@mortise/app-common/operations';
import { NestLog } from '@mortise/app-common/log';
import type { Tracing } from '@mortise/app-common/tracing';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';

import { AppModule } from './app.module.js';
import { Audit } from './callers/audit.js';
import { Authentication } from './callers/authentication.js';
import type { Config } from './config.js';
import { serveConsole } from './console/serve-console.js';
import { Connections } from './http/connections.js';
import { createAdapter } from './http/fastify.js';
import { RouteMethods } from './http/route-methods.js';
import { RequestLimits } from './limits/request-limits.js';
import { Usage } from './limits/usage.js';
import { timeRequests } from './metrics/http-metrics.js';
import { serveDocument } from './openapi.js';

/** The API, ready to listen. The caller closes it. */
export async function createApp(
  config: Config,
  log: Logger,
  tracing?: Tracing,
): Promise<NestFastifyApplication> {
  const methods = new RouteMethods();
  const connections = new Connections(config);
  const metrics = new Metrics('api', tracing);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.with(config, log, { methods, connections, metrics, tracing }),
    createAdapter(config, log, methods, connections, tracing),
    { logger: new NestLog(log), bodyParser: false, abortOnError: false },
  );
  const server = app.getHttpAdapter().getInstance();
  timeRequests(metrics, server);
  app.get(Authentication).guard(server);
  app.get(RequestLimits).watch(server);
  app.get(Usage).watch(server);
  app.get(Audit).watch(server);
  if (config.CONSOLE !== 'off') await serveConsole(server, log);
  if (config.DOCS !== 'off') serveDocument(app);
  return app;
}
