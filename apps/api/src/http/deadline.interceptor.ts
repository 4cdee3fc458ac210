import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Inject, Injectable, SetMetadata } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { throwError, timeout } from 'rxjs';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG } from '../tokens.js';

/** How much longer a request may take because it asked to wait, ms. Called before any check. */
type WaitOf = (request: FastifyRequest) => number;

const WAIT = Symbol('wait');

/** Adds the wait of a request to its deadline. */
export function Waits(waitOf: WaitOf): MethodDecorator {
  return SetMetadata(WAIT, waitOf);
}

/**
 * A request gives up after REQUEST_DEADLINE_MS, however many round trips it makes and however often a cluster client
 * redirects. A change may be made nevertheless: repeat it under the same Idempotency-Key.
 */
@Injectable()
export class DeadlineInterceptor implements NestInterceptor {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const waitOf = Reflect.getMetadata(WAIT, context.getHandler()) as WaitOf | undefined;
    const waitMs = waitOf?.(context.switchToHttp().getRequest()) ?? 0;
    const each = this.config.REQUEST_DEADLINE_MS + waitMs;
    return next
      .handle()
      .pipe(timeout({ each, with: () => throwError(() => new Problem('redis-unavailable')) }));
  }
}
