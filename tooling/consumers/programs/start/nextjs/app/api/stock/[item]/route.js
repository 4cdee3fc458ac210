import { Mutex } from '@mortise/locks';
import { mortise, options } from '../../../../lib/mortise.mjs';

export async function POST(_request, { params }) {
  const { item } = await params;
  const stock = new Mutex(mortise.redis, `stock:${item}`, options);
  // Store the token with each write, and refuse smaller ones.
  return stock.using(async (_signal, { fencingToken }) => Response.json({ item, fencingToken }));
}
