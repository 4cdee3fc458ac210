import { mortise } from '../../../../lib/mortise.mjs';

export async function POST(request, { params }) {
  const { chat } = await params;
  const { from, to, body } = await request.json();
  await mortise.chats.create({ chatId: chat, sender: from, members: [to] }); // once; later calls change nothing
  return Response.json(await mortise.chats.post(chat, from, body), { status: 201 });
}

export async function GET(request) {
  const member = new URL(request.url).searchParams.get('member');
  const unread = await mortise.chats.pull(member);
  await mortise.chats.ackAll(member, unread);
  return Response.json(unread.flatMap(({ messages }) => messages));
}
