/** The entity tag of the settings of a queue, and the header `If-Match`, which makes a change depend on it. */
import { createHash } from 'node:crypto';

import type { ExecutionContext } from '@nestjs/common';
import { applyDecorators, createParamDecorator } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';

import { Problem } from '../problems/problem.js';

/** An entity tag, or a list of them. */
const TAGS = /^(?:\*|(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*)$/;
const TAG_BYTES = 12;

export function tagOf(settings: object): string {
  const digest = createHash('sha256').update(JSON.stringify(settings)).digest();
  return `"${digest.toString('base64url', 0, TAG_BYTES)}"`;
}

/** Throws the problem `settings-changed` where these are not the settings that the caller has seen. */
export function requireMatch(ifMatch: string, settings: object): void {
  const tag = tagOf(settings);
  // Weak tags match nothing here.
  if (ifMatch === '*' || ifMatch.split(/\s*,\s*/).includes(tag)) return;
  throw new Problem('settings-changed', undefined, { etag: tag });
}

/** The header, or undefined. Throws the problem `invalid-if-match`. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext): string | undefined => {
  const given = context.switchToHttp().getRequest<FastifyRequest>().headers['if-match'];
  if (given === undefined) return undefined;
  if (!TAGS.test(given)) throw new Problem('invalid-if-match', 'must be * or entity tags in quotes');
  return given;
});

/** Documents the header on a route. */
export function TakesIfMatch(description: string): MethodDecorator {
  const schema = { type: 'string', pattern: TAGS.source } as const;
  return applyDecorators(
    ApiHeader({ name: 'If-Match', required: false, description, schema, example: '"Jb3fVx0q1mE9_aZ2"' }),
  );
}
