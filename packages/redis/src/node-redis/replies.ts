/**
 * Replies of node-redis in the shapes of RESP2, which the packages expect: what `replyMapping: 'legacy'` is in ioredis. A
 * client with RESP3 has maps, sets, doubles and pairs of their own.
 */

/** The first byte of a reply names its type. */
const BLOB_STRING = 36;
const MAP = 37;
const BIG_NUMBER = 40;
const SIMPLE_STRING = 43;
const DOUBLE = 44;
const VERBATIM_STRING = 61;
const SET = 126;

const SHAPES = { [MAP]: Array, [SET]: Array, [BIG_NUMBER]: String, [DOUBLE]: String };

/** The form of bulk strings in a reply. */
export type Bulk = 'string' | 'buffer';

/** Type mappings of node-redis. They replace one of the caller's client. Doubles of RESP3 are strings in both: node-redis has no bytes of them. */
export const MAPPINGS: Readonly<Record<Bulk, object>> = {
  string: SHAPES,
  buffer: { ...SHAPES, [BLOB_STRING]: Buffer, [SIMPLE_STRING]: Buffer, [VERBATIM_STRING]: Buffer },
};

/** `[[a, 1], [b, 2]]` as `[a, 1, b, 2]`: pairs of member and score in RESP3. */
function flattenPairs(reply: unknown): unknown {
  return Array.isArray(reply) ? reply.flat() : reply;
}

/** ioredis gives a hash as an object. */
function toObject(reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  const fields: [string, unknown][] = [];
  for (let at = 0; at < reply.length; at += 2) fields.push([String(reply[at]), reply[at + 1]]);
  return Object.fromEntries(fields);
}

const SHAPERS = new Map<string, (reply: unknown) => unknown>([
  ['hgetall', toObject],
  ['hrandfield', flattenPairs],
  ['zdiff', flattenPairs],
  ['zinter', flattenPairs],
  ['zpopmax', flattenPairs],
  ['zpopmin', flattenPairs],
  ['zrandmember', flattenPairs],
  ['zrange', flattenPairs],
  ['zrangebyscore', flattenPairs],
  ['zrevrange', flattenPairs],
  ['zrevrangebyscore', flattenPairs],
  ['zunion', flattenPairs],
]);

/** The last change to a reply of this command, if it needs one. */
export function shaperOf(command: string): ((reply: unknown) => unknown) | undefined {
  return SHAPERS.get(command);
}
