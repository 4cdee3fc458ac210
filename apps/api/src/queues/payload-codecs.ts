/** The header that names the codecs of values which a producer or a worker has encoded, and which the API returns as they are stored. */
import { isEncoded } from '@mortise/queues';
import type { FastifyReply } from 'fastify';

/** Sets no header if none of the values is encoded. */
export function namePayloadCodecs(reply: FastifyReply, values: readonly unknown[]): void {
  const names = values.flatMap((value) => (isEncoded(value) ? value.$codec.split(',') : []));
  if (names.length > 0) void reply.header('payload-codecs', [...new Set(names)].join(', '));
}
