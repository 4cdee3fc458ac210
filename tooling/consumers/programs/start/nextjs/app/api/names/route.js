import { AddressBook } from '@mortise/autocomplete';
import { redis } from '../../../lib/redis.mjs';

const staff = new AddressBook(redis, 'staff');

export async function POST(request) {
  await staff.add(await request.json());
  return new Response(null, { status: 204 });
}

export async function GET(request) {
  const text = new URL(request.url).searchParams.get('text');
  return Response.json(await staff.complete(text, { limit: 5 }));
}
