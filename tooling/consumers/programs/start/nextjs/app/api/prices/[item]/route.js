import { mortise } from '../../../../lib/mortise.js';

export async function GET(_request, { params }) {
  const { item } = await params;
  return Response.json({ price: await mortise.prices.getOrLoad(item, async () => 12) });
}
