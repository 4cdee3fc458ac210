import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { throwError, timeout } from 'rxjs';

import { Problem } from '../problems/problem.js';

/**
 * What waits for Redis gives up within a second, however many round trips it makes and however often a cluster client
 * redirects. Of a change, that means that it may be made: repeat it under the same Idempotency-Key.
 */
export const DEADLINE_MS = 850;

@Injectable()
export class DeadlineInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next
      .handle()
      .pipe(timeout({ each: DEADLINE_MS, with: () => throwError(() => new Problem('redis-unavailable')) }));
  }
}
