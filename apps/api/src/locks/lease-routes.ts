/** The routes of leases, for locks and semaphores. */
import { applyDecorators, Post } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import type { z } from 'zod';

import { Answers, Creates } from '../http/answers.js';
import { Waits } from '../http/deadline.interceptor.js';
import { TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { waitOf } from '../http/wait-of.js';
import type { ProblemSlug } from '../problems/catalogue.js';
import { leaseSchema, releaseSchema, renewalSchema } from './schemas.js';

const LEASE_PROBLEMS = ['invalid-id', ...BODY_PROBLEMS, 'lease-lost'] as const;

interface Described {
  readonly summary: string;
  readonly description: string;
}

/** The answers of an acquisition, of one lock or of several. */
export function AnswersLease(schema: z.ZodType, ...problems: ProblemSlug[]): MethodDecorator {
  return applyDecorators(
    Waits(waitOf),
    TakesIdempotencyKey('Repeating the request returns the same lease, renewed, as long as it lasts.'),
    Creates(schema, 'The lease.', 'The lease of an earlier request.'),
    Problems(
      ...BODY_PROBLEMS,
      'lease-lost',
      ...problems,
      'invalid-idempotency-key',
      'lock-timeout',
      'request-reused',
      'too-many-waits',
      'quota-exceeded',
      'shutting-down',
    ),
  );
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
        `The queue is first come, first served, shared with programs that use @mortise/locks. ${description} Only \`renew\` renews ` +
        'the lease. A client that closes the connection leaves the queue. After an error of Redis, a lease ' +
        'that no client knows may stay until it expires.',
    }),
    AnswersLease(leaseSchema, 'invalid-id', ...problems),
  );
}

export function RenewRoute(): MethodDecorator {
  return applyDecorators(
    Post(':name/renew'),
    ApiOperation({
      summary: 'Extend a lease',
      description: 'Extends the lease to `leaseMs` from now. The request never shortens it.',
    }),
    Answers(renewalSchema, 'The new end of the lease.'),
    Problems(...LEASE_PROBLEMS),
  );
}

export function ReleaseRoute({ summary, description }: Described): MethodDecorator {
  return applyDecorators(
    Post(':name/release'),
    ApiOperation({
      summary,
      description: `${description} For a minute a repeated request gets the same answer.`,
    }),
    Answers(releaseSchema, 'The lease is released.'),
    Problems(...LEASE_PROBLEMS),
  );
}
