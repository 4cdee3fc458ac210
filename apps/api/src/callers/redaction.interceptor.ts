import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { map } from 'rxjs';

import { Redaction } from './redaction.js';

/** Sessions get no answer with hidden members. A route that writes its answer itself calls `Redaction`. */
@Injectable()
export class RedactionInterceptor implements NestInterceptor {
  constructor(private readonly redaction: Redaction) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { principal } = context.switchToHttp().getRequest<FastifyRequest>();
    return next.handle().pipe(map((answer: unknown) => this.redaction.shownIn(answer, principal)));
  }
}
