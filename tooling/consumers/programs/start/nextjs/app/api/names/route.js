import { mortise } from '../../../lib/mortise.mjs';

export async function POST(request) {
  await mortise.staff.add(await request.json());
  return new Response(null, { status: 204 });
}

export async function GET(request) {
  const text = new URL(request.url).searchParams.get('text');
  return Response.json(await mortise.staff.complete(text, { limit: 5 }));
}
