import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { Injectable } from '@nestjs/common';

import { Problem } from '../problems/problem.js';

/** The most errors in a problem, whatever a hostile request contains. */
const MAX_ISSUES = 20;
const MAX_MESSAGE_LENGTH = 200;

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * Checks a parameter, query or body against the schema given with its decorator. Nest's StandardSchemaValidationPipe
 * does the same, but doesn't say in its exception which of the three was wrong.
 */
@Injectable()
export class SchemaPipe implements PipeTransform {
  async transform(value: unknown, { schema, type, data }: ArgumentMetadata): Promise<unknown> {
    if (!schema) return value;
    if (type === 'body' && value === undefined)
      throw new Problem('malformed-json', 'the request has no body: send a JSON object, {} without members');
    const result = await schema['~standard'].validate(value);
    if (!result.issues) return result.value;
    if (type === 'param') throw new Problem('invalid-id', result.issues[0]?.message, { parameter: data });
    const slug = type === 'query' ? 'invalid-query' : 'invalid-body';
    throw new Problem(slug, undefined, { errors: explain(result.issues) });
  }
}

function explain(issues: readonly Issue[]): { pointer: string; message: string }[] {
  return issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => ({
    pointer: path
      .map((part) => `/${String(typeof part === 'object' ? part.key : part)}`)
      .join('')
      .slice(0, MAX_MESSAGE_LENGTH),
    message: message.slice(0, MAX_MESSAGE_LENGTH),
  }));
}
