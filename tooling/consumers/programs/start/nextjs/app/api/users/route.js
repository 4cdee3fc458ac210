import { Queue } from '@mortise/queues';
import { redis } from '../../../lib/redis.mjs';

const mails = new Queue(redis, 'mails');

export async function POST(request) {
  return Response.json(await mails.enqueue('welcome', await request.json()), { status: 202 });
}
