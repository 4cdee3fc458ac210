import { Chats } from '@mortise/messaging';
import { redis } from '../../../../lib/redis.mjs';

const chats = new Chats(redis);

export async function POST(request, { params }) {
  const { chat } = await params;
  const { from, to, body } = await request.json();
  await chats.create({ chatId: chat, sender: from, members: [to] }); // once; later calls change nothing
  return Response.json(await chats.post(chat, from, body), { status: 201 });
}

export async function GET(request) {
  const member = new URL(request.url).searchParams.get('member');
  const unread = await chats.pull(member);
  await chats.ackAll(member, unread);
  return Response.json(unread.flatMap(({ messages }) => messages));
}
