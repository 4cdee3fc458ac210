import { RateLimiter } from '@mortise/locks';
import { mortise } from '../../../../lib/mortise.js';

export async function POST(_request, { params }) {
  const { name } = await params;
  const { redis, options, mails } = mortise;
  const limiter = new RateLimiter(redis, 'users', { ...options, limit: 2, periodMs: 60_000 });
  const { isAllowed, retryAfterMs } = await limiter.take();
  if (!isAllowed) {
    const headers = { 'Retry-After': `${Math.ceil(retryAfterMs / 1_000)}` };
    return new Response(null, { status: 429, headers });
  }
  await mails.enqueue('welcome', { to: name });
  return new Response(null, { status: 202 });
}
