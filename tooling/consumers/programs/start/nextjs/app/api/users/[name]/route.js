import { Queue } from '@mortise/queues';
import { redis } from '../../../../lib/redis.mjs';

const mails = new Queue(redis, 'mails');

export async function POST(_request, { params }) {
  const { name } = await params;
  await mails.enqueue('welcome', { to: name });
  return new Response(null, { status: 202 });
}
