import { Metrics } from '@mortise/app-common/operations';
import type { Tracing } from '@mortise/app-common/tracing';
import type { DynamicModule } from '@nestjs/common';
import { Global, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import type { Logger } from 'pino';

import { AdminModule } from './admin/admin.module.js';
import { AggregatesModule } from './aggregates/aggregates.module.js';
import { RemoteAutocompleteModule } from './autocomplete/remote-autocomplete.module.js';
import { CallersModule } from './callers/callers.module.js';
import { CachesModule } from './caches/caches.module.js';
import type { Config } from './config.js';
import { ConsoleModule } from './console/console.module.js';
import { EventsModule } from './events/events.module.js';
import { RemoteFilesModule } from './files/remote-files.module.js';
import { HealthController } from './health/health.controller.js';
import { Connections } from './http/connections.js';
import { RedactionInterceptor } from './callers/redaction.interceptor.js';
import { DeadlineInterceptor } from './http/deadline.interceptor.js';
import { Origins } from './http/origins.js';
import { QueryKeys } from './http/query-keys.js';
import { ProblemFilter } from './http/problem.filter.js';
import { ProblemsController } from './http/problems.controller.js';
import { RouteMethods } from './http/route-methods.js';
import { SchemaPipe } from './http/schema.pipe.js';
import { ShutdownState } from './http/shutdown.js';
import { LimitsModule } from './limits/limits.module.js';
import { RemoteLocksModule } from './locks/remote-locks.module.js';
import { MarketModule } from './market/market.module.js';
import { RemoteMessagingModule } from './messaging/remote-messaging.module.js';
import { RemoteQueuesModule } from './queues/remote-queues.module.js';
import { RedisModule } from './redis/redis.module.js';
import { RowCacheModule } from './row-cache/row-cache.module.js';
import { CONFIG, LOG, TRACING } from './tokens.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** The server has these before the modules. */
interface Foundation {
  readonly methods: RouteMethods;
  readonly connections: Connections;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
}

@Global()
@Module({})
export class AppModule {
  static with(
    config: Config,
    log: Logger,
    { methods, connections, metrics, tracing }: Foundation,
  ): DynamicModule {
    return {
      module: AppModule,
      imports: [
        RedisModule,
        CallersModule,
        AdminModule,
        LimitsModule,
        RemoteQueuesModule,
        MarketModule,
        WebhooksModule,
        RemoteLocksModule,
        RemoteMessagingModule,
        RemoteFilesModule,
        RemoteAutocompleteModule,
        AggregatesModule,
        RowCacheModule,
        CachesModule,
        ConsoleModule,
        EventsModule,
      ],
      controllers: [HealthController, ProblemsController],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: LOG, useValue: log },
        { provide: RouteMethods, useValue: methods },
        { provide: Connections, useValue: connections },
        { provide: Metrics, useValue: metrics },
        { provide: TRACING, useFactory: () => tracing },
        ShutdownState,
        Origins,
        { provide: APP_GUARD, useClass: QueryKeys },
        { provide: APP_PIPE, useClass: SchemaPipe },
        { provide: APP_FILTER, useClass: ProblemFilter },
        { provide: APP_INTERCEPTOR, useClass: DeadlineInterceptor },
        { provide: APP_INTERCEPTOR, useClass: RedactionInterceptor },
      ],
      exports: [CONFIG, LOG, TRACING, Origins, Connections, Metrics],
    };
  }
}
