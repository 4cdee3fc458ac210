import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';

import type { ProblemSlug } from '../problems/catalogue.js';
import { CATALOGUE } from '../problems/catalogue.js';
import { Problem } from '../problems/problem.js';

/** Those of every route that takes a body of JSON. */
export const BODY_PROBLEMS = [
  'invalid-body',
  'malformed-json',
  'body-too-large',
  'unsupported-media-type',
] as const satisfies readonly ProblemSlug[];

/** Documents the problems of a route, in addition to those of every route. */
export function Problems(...slugs: ProblemSlug[]): MethodDecorator {
  const all: ProblemSlug[] = [...slugs, 'internal-error', 'redis-unavailable'];
  const statuses = new Set(all.map((slug) => CATALOGUE[slug].status));
  return applyDecorators(
    ...[...statuses].map((status) => {
      const kinds = all.filter((slug) => CATALOGUE[slug].status === status);
      return ApiResponse({
        status,
        description: kinds.map((slug) => `\`${slug}\`: ${CATALOGUE[slug].title}`).join('; '),
        content: {
          'application/problem+json': {
            schema: { $ref: '#/components/schemas/Problem' },
            examples: Object.fromEntries(
              kinds.map((slug) => [
                slug,
                { value: new Problem(slug).toDocument('019e4b5a-3f6e-7c4a-9d51-6a4f0c2b7e10') },
              ]),
            ),
          },
        },
      });
    }),
  );
}
