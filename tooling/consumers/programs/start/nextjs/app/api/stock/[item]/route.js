import { Mutex } from '@mortise/locks';
import { redis } from '../../../../lib/redis.mjs';

export async function POST(_request, { params }) {
  const { item } = await params;
  const stock = new Mutex(redis, `stock:${item}`);
  // Store the token with each write, and refuse smaller ones.
  return stock.using(async (_signal, { fencingToken }) => Response.json({ item, fencingToken }));
}
