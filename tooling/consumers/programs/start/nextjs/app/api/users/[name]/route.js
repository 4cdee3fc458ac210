import { mortise } from '../../../../lib/mortise.mjs';

export async function POST(_request, { params }) {
  const { name } = await params;
  await mortise.mails.enqueue('welcome', { to: name });
  return new Response(null, { status: 202 });
}
