/** The routes of leases, for locks and semaphores. */
import { applyDecorators, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';

import { Waits } from '../http/deadline.interceptor.js';
import { TakesIdempotencyKey } from '../http/idempotency-key.js';
import { Problems } from '../http/problems.decorator.js';
import type { ProblemSlug } from '../problems/catalogue.js';
import { waitOf } from '../http/wait-of.js';
import { leaseSchema, releaseSchema, renewalSchema } from './schemas.js';

const BODY_PROBLEMS = [
  'invalid-id',
  'invalid-body',
  'malformed-json',
  'lease-lost',
  'body-too-large',
  'unsupported-media-type',
] as const;

interface Described {
  readonly summary: string;
  readonly description: string;
}

export function AcquireRoute(
  { summary, description }: Described,
  ...problems: ProblemSlug[]
): MethodDecorator {
  return applyDecorators(
    Post(':name/acquire'),
    ApiOperation({
      summary,
      description:
        `First come, first served, together with programs that use @mortise/locks. ${description} Only \`renew\` renews ` +
        'the lease. A client that closes the connection leaves the queue. After an error of Redis, a lease may stay ' +
        'that no client knows: it expires.',
    }),
    Waits(waitOf),
    TakesIdempotencyKey('Repeating the request returns the same lease, renewed, as long as it lasts.'),
    ApiResponse({
      status: 200,
      standardSchema: leaseSchema,
      description: 'The lease of an earlier request.',
    }),
    ApiResponse({ status: 201, standardSchema: leaseSchema, description: 'The lease.' }),
    Problems(
      ...BODY_PROBLEMS,
      ...problems,
      'invalid-idempotency-key',
      'lock-timeout',
      'request-reused',
      'too-many-waits',
      'shutting-down',
    ),
  );
}

export function RenewRoute(): MethodDecorator {
  return applyDecorators(
    Post(':name/renew'),
    HttpCode(HttpStatus.OK),
    ApiOperation({ summary: 'Lengthen a lease', description: 'To `leaseMs` from now; never shortens it.' }),
    ApiResponse({ status: 200, standardSchema: renewalSchema, description: 'The new end.' }),
    Problems(...BODY_PROBLEMS),
  );
}

export function ReleaseRoute({ summary, description }: Described): MethodDecorator {
  return applyDecorators(
    Post(':name/release'),
    HttpCode(HttpStatus.OK),
    ApiOperation({
      summary,
      description: `${description} A repeated request is answered in the same way for a minute.`,
    }),
    ApiResponse({ status: 200, standardSchema: releaseSchema, description: 'It is released.' }),
    Problems(...BODY_PROBLEMS),
  );
}
