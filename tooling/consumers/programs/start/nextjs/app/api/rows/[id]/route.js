import { items } from '../../../../lib/items.mjs';

export async function GET(_request, { params }) {
  const { id } = await params;
  return Response.json(await items.get(id));
}
