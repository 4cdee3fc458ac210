import type { ExecutionContext } from '@nestjs/common';
import { applyDecorators, createParamDecorator } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';

import { Problem } from '../problems/problem.js';
import { isDotSegment } from './dot-segment.js';

/** An id, optionally in the quotes of a structured header. */
const KEY = /^("?)([A-Za-z0-9._~@:-]{1,128})\1$/;

/** The header `Idempotency-Key`, or undefined. Throws the problem `invalid-idempotency-key`. */
export const IdempotencyKey = createParamDecorator(
  (_: unknown, context: ExecutionContext): string | undefined => {
    const given = context.switchToHttp().getRequest<FastifyRequest>().headers['idempotency-key'];
    if (given === undefined) return undefined;
    const key = KEY.exec(String(given))?.[2];
    // It becomes the id of a listing.
    if (key === undefined || isDotSegment(key)) {
      throw new Problem(
        'invalid-idempotency-key',
        'must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : -, and not . or ..',
      );
    }
    return key;
  },
);

/** Documents the header on a route. */
export function TakesIdempotencyKey(description: string): MethodDecorator {
  const schema = { type: 'string', pattern: KEY.source } as const;
  return applyDecorators(
    ApiHeader({ name: 'Idempotency-Key', required: false, description, schema, example: 'cart-42' }),
  );
}
