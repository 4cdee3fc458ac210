/** The topics of a stream, the rights that each needs, and the token that continues all of them. */
import { z } from 'zod';

import type { Principal } from '../callers/principal.js';
import { requireScope, requireSubject } from '../callers/principal.js';
import type { Scope } from '../callers/scopes.js';
import { PLACES } from '../console/stored-names.js';
import { nameSchema } from '../http/id-schema.js';
import { Problem } from '../problems/problem.js';
import { DEFAULT_TENANT } from '../tenants/tenancy.js';

/** The most topics of a stream, and of a WebSocket. */
export const MAX_TOPICS = 10;
/** Of all topics: a token of a member has up to 1 KiB. */
const MAX_TOKEN_LENGTH = 16_384;

interface Kind {
  readonly scope: Scope;
  /** The name is that of somebody, for whom the credential has to act. */
  readonly isPerson?: true;
  /** The names that there are. */
  readonly among?: readonly string[];
  /** There is one for each tenant, and it has no name. */
  readonly isNameless?: true;
  /** There is one, of the deployment, and it has no name. */
  readonly isOfDeployment?: true;
}

const KINDS = {
  queue: { scope: 'queues:read' },
  member: { scope: 'messaging:read', isPerson: true },
  mailbox: { scope: 'messaging:read', isPerson: true },
  cache: { scope: 'cache:read' },
  market: { scope: 'market:read', isOfDeployment: true },
  overview: { scope: 'queues:read', isNameless: true },
  redis: { scope: 'ops:read', isOfDeployment: true },
  lock: { scope: 'locks:read' },
  semaphore: { scope: 'locks:read' },
  'read-write-lock': { scope: 'locks:read' },
  'rate-limiter': { scope: 'locks:read' },
  locks: { scope: 'locks:admin', isNameless: true },
  semaphores: { scope: 'locks:admin', isNameless: true },
  'rate-limiters': { scope: 'locks:admin', isNameless: true },
  names: { scope: 'ops:read', among: Object.keys(PLACES) },
  operation: { scope: 'queues:read' },
  rows: { scope: 'cache:read', isOfDeployment: true },
  'file-channel': { scope: 'messaging:read' },
} as const satisfies Record<string, Kind>;

/** The kinds of topics: those of the tests are the same. */
export const TOPIC_KINDS: readonly string[] = Object.keys(KINDS);

export interface Topic {
  /** As the request has it. */
  readonly text: string;
  /** The same for all texts of the topic. */
  readonly id: string;
  readonly kind: keyof typeof KINDS;
  /** Empty where the kind has none. */
  readonly name: string;
}

const FORMS = Object.entries<Kind>(KINDS)
  .map(([kind, its]) => (isNameless(its) ? kind : `${kind}:<name>`))
  .join(', ');

function isNameless(kind: Kind): boolean {
  return kind.isNameless === true || kind.isOfDeployment === true;
}

function topicOf(text: string): Topic | undefined {
  const [, word = '', coded] = /^([a-z-]+)(?::(.*))?$/su.exec(text) ?? [];
  if (!Object.hasOwn(KINDS, word)) return undefined;
  const kind = word as Topic['kind'];
  const { among }: Kind = KINDS[kind];
  if (isNameless(KINDS[kind])) return coded === undefined ? { text, id: kind, kind, name: '' } : undefined;
  try {
    const name = nameSchema.safeParse(decodeURIComponent(coded ?? ''));
    return name.success && (among?.includes(name.data) ?? true)
      ? { text, id: `${kind}:${name.data}`, kind, name: name.data }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Throws the problems `scope-missing`, `subject-mismatch` and `unknown-topic`. */
export function requireTopic(principal: Principal, { kind, name, text }: Topic): void {
  const { scope, isPerson, isOfDeployment }: Kind = KINDS[kind];
  requireScope(principal, scope);
  if (isPerson) requireSubject(principal, name);
  if (isOfDeployment && principal.tenant !== DEFAULT_TENANT)
    throw new Problem('unknown-topic', 'the tenant of the credential has no such topic', { topic: text });
}

export const topicSchema = z.string().transform((text, context): Topic => {
  const topic = topicOf(text);
  if (topic) return topic;
  context.addIssue({ code: 'custom', message: `must be one of ${FORMS}, with a percent-encoded name` });
  return z.NEVER;
});

export const topicsQuery = z.strictObject({
  topics: z
    .string()
    .transform((text, context): Topic[] => {
      const topics = text.split(',').map(topicOf);
      const known = topics.filter((topic) => topic !== undefined);
      const isOnce = new Set(known.map(({ id }) => id)).size === topics.length;
      if (isOnce && topics.length <= MAX_TOPICS) return known;
      const message = `must be 1 to ${MAX_TOPICS} different topics of ${FORMS}, with commas between them`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    })
    .meta({
      description: 'Up to 10 topics, separated by commas. Names are percent-encoded.',
      examples: ['queue:mail,member:frank,market'],
    }),
  after: z.string().optional().meta({
    description: 'the id of an event, after which the stream continues, as with the header Last-Event-ID',
  }),
});

/** The token of each topic, by its id. */
export type Tokens = Record<string, string>;

export function encodeTokens(tokens: Tokens): string {
  return Buffer.from(JSON.stringify(tokens)).toString('base64url');
}

/** Throws the problem `invalid-token`. */
export function decodeTokens(text: string, topics: readonly Topic[]): Tokens {
  const known = new Set(topics.map(({ id }) => id));
  try {
    if (text.length > MAX_TOKEN_LENGTH) throw new RangeError('too long');
    const tokens = z
      .record(z.string(), z.string())
      .parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
    const its = Object.entries(tokens).filter(([id]) => known.has(id));
    // The token of a member who got no event yet is empty.
    if (its.length === 0 && Object.keys(tokens).length > 0) throw new RangeError('of other topics');
    return Object.fromEntries(its);
  } catch (error) {
    throw new Problem('invalid-token', 'is not the id of an event of this stream', {}, { cause: error });
  }
}
