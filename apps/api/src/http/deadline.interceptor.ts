import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Injectable, SetMetadata } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { throwError, timeout } from 'rxjs';

import { Problem } from '../problems/problem.js';

/**
 * What waits for Redis gives up within a second, however many round trips it makes and however often a cluster client
 * redirects. Of a change, that means that it may be made: repeat it under the same Idempotency-Key.
 */
export const DEADLINE_MS = 850;

/** How much longer a request may take because it asked to wait, ms. It is asked before anything is checked. */
type WaitOf = (request: FastifyRequest) => number;

const WAIT = Symbol('wait');

/** Gives requests to a route the time that they wait, besides that of the others. */
export function Waits(waitOf: WaitOf): MethodDecorator {
  return SetMetadata(WAIT, waitOf);
}

@Injectable()
export class DeadlineInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const waitOf = Reflect.getMetadata(WAIT, context.getHandler()) as WaitOf | undefined;
    const waitMs = waitOf?.(context.switchToHttp().getRequest()) ?? 0;
    const each = DEADLINE_MS + waitMs;
    return next
      .handle()
      .pipe(timeout({ each, with: () => throwError(() => new Problem('redis-unavailable')) }));
  }
}
