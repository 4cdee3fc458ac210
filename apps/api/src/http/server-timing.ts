import type { FastifyReply } from 'fastify';

/** Runs a call, and says in the header `Server-Timing` how long it took in this process, its round trips to Redis included. */
export async function timed<Result>(
  reply: FastifyReply,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const startsAt = performance.now();
  const result = await work();
  reply.header('server-timing', `${name};dur=${(performance.now() - startsAt).toFixed(3)}`);
  return result;
}
