import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';

import type { ProblemSlug } from '../problems/catalogue.js';
import { CATALOGUE } from '../problems/catalogue.js';
import type { ProblemFields } from '../problems/problem.js';
import { Problem } from '../problems/problem.js';

/** Those of every route that takes a body of JSON. */
export const BODY_PROBLEMS = [
  'invalid-body',
  'malformed-json',
  'body-too-large',
  'unsupported-media-type',
] as const satisfies readonly ProblemSlug[];

/** The problems of one status, in an OpenAPI document. */
export interface ProblemResponse {
  readonly description: string;
  readonly content: Record<
    string,
    { schema: { $ref: string }; examples: Record<string, { value: ProblemFields }> }
  >;
}

/** The responses of these problems, by status. */
export function problemResponses(slugs: readonly ProblemSlug[]): Record<string, ProblemResponse> {
  const statuses = new Set(slugs.map((slug) => CATALOGUE[slug].status));
  return Object.fromEntries(
    Array.from(statuses, (status) => {
      const kinds = slugs.filter((slug) => CATALOGUE[slug].status === status);
      const response = {
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
      };
      return [status, response];
    }),
  );
}

/** Documents the problems of a route, in addition to those of every route. */
export function Problems(...slugs: ProblemSlug[]): MethodDecorator {
  const responses = problemResponses([...slugs, 'internal-error', 'redis-unavailable', 'redis-denied']);
  return applyDecorators(
    ...Object.entries(responses).map(([status, response]) =>
      ApiResponse({ status: Number(status), ...response }),
    ),
  );
}
