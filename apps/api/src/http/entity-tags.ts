/** Entity tags (RFC 9110, 8.8.3) in the headers of conditional requests. */
import type { ExecutionContext } from '@nestjs/common';
import { applyDecorators, createParamDecorator } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';

import { Problem } from '../problems/problem.js';

/** An entity tag, or a list of them. */
const TAGS = /^(?:\*|(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*)$/;
const EXAMPLE = '"Jb3fVx0q1mE9_aZ2"';

/** The tags of the header `If-Match`, or undefined. Throws the problem `invalid-if-match`. */
export const IfMatch = createParamDecorator(
  (_: unknown, context: ExecutionContext): readonly string[] | undefined => {
    const given = headerOf(context, 'if-match');
    if (given === undefined) return undefined;
    if (!TAGS.test(given)) throw new Problem('invalid-if-match', 'must be * or entity tags in quotes');
    return tagsOf(given);
  },
);

/** The tags of the header `If-None-Match`; empty for an invalid header, since the full answer is right too. */
export const IfNoneMatch = createParamDecorator(
  (_: unknown, context: ExecutionContext): readonly string[] => {
    const given = headerOf(context, 'if-none-match');
    return given !== undefined && TAGS.test(given) ? tagsOf(given) : [];
  },
);

/** Whether `If-Match` has this tag or `*`. A weak tag never matches (strong comparison). */
export function isMatch(tags: readonly string[], tag: string): boolean {
  return tags.includes('*') || tags.includes(tag);
}

/** Whether `If-None-Match` has this tag or `*`. A weak tag matches too (weak comparison). */
export function isKnown(tags: readonly string[], tag: string): boolean {
  return isMatch(tags, tag) || tags.includes(`W/${tag}`);
}

/** Documents `If-Match` on a route. */
export function TakesIfMatch(description: string): MethodDecorator {
  return takes('If-Match', description);
}

/** Documents `If-None-Match` on a route. */
export function TakesIfNoneMatch(description: string): MethodDecorator {
  return takes('If-None-Match', description);
}

function takes(name: string, description: string): MethodDecorator {
  const schema = { type: 'string', pattern: TAGS.source } as const;
  return applyDecorators(ApiHeader({ name, required: false, description, schema, example: EXAMPLE }));
}

function headerOf(context: ExecutionContext, name: 'if-match' | 'if-none-match'): string | undefined {
  return context.switchToHttp().getRequest<FastifyRequest>().headers[name];
}

function tagsOf(header: string): readonly string[] {
  return header.match(/\*|(?:W\/)?"[^"]*"/g) ?? [];
}
