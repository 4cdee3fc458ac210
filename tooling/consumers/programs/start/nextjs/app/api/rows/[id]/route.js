import { mortise } from '../../../../lib/mortise.mjs';

export async function GET(_request, { params }) {
  const { id } = await params;
  return Response.json(await mortise.items.get(id));
}
