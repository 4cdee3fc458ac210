/** The topics of a stream: `queue:<name>` and `member:<name>`, and the token that continues all of them. */
import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';
import { Problem } from '../problems/problem.js';

const MAX_TOPICS = 10;
const TOPIC = /^(queue|member):(.+)$/su;
/** Of all topics: a token of a member has up to 1 KiB. */
const MAX_TOKEN_LENGTH = 16_384;

export interface Topic {
  /** As the request has it. */
  readonly text: string;
  readonly kind: 'queue' | 'member';
  readonly name: string;
}

function topicOf(text: string): Topic | undefined {
  const [, kind, coded = ''] = TOPIC.exec(text) ?? [];
  try {
    const name = nameSchema.safeParse(decodeURIComponent(coded));
    return kind && name.success ? { text, kind: kind as Topic['kind'], name: name.data } : undefined;
  } catch {
    return undefined;
  }
}

export const topicsQuery = z.strictObject({
  topics: z
    .string()
    .transform((text, context): Topic[] => {
      const topics = text.split(',').map(topicOf);
      const known = topics.filter((topic) => topic !== undefined);
      const isOnce = new Set(known.map(({ kind, name }) => `${kind}:${name}`)).size === topics.length;
      if (isOnce && topics.length <= MAX_TOPICS) return known;
      const message = `must be 1 to ${MAX_TOPICS} different topics, queue:<name> or member:<name>, with commas between them`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    })
    .meta({
      description: 'up to 10, with commas between them; names are percent-encoded',
      examples: ['queue:mail,member:frank'],
    }),
  after: z
    .string()
    .optional()
    .meta({ description: 'the id of an event: continues after it, as the header Last-Event-ID does' }),
});

/** The token of each topic, by its text. */
export type Tokens = Record<string, string>;

export function encodeTokens(tokens: Tokens): string {
  return Buffer.from(JSON.stringify(tokens)).toString('base64url');
}

/** Throws the problem `invalid-token`. */
export function decodeTokens(text: string, topics: readonly Topic[]): Tokens {
  const known = new Set(topics.map((topic) => topic.text));
  try {
    if (text.length > MAX_TOKEN_LENGTH) throw new RangeError('too long');
    const tokens = z
      .record(z.string(), z.string())
      .parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
    return Object.fromEntries(Object.entries(tokens).filter(([topic]) => known.has(topic)));
  } catch (error) {
    throw new Problem('invalid-token', 'is not the id of an event of this stream', {}, { cause: error });
  }
}
