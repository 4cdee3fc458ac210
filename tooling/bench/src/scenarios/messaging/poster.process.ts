/** One process that creates chats and posts to them on request. */
import type { ChatClient } from './kind.js';
import { chatKind } from './kinds/index.js';
import { now } from './now.js';

interface Where {
  readonly url: string;
  readonly kind: string;
  readonly chat: string;
  readonly text: string;
}

let client: ChatClient | undefined;

async function create({
  url,
  kind,
  chat,
  members,
  text,
}: Where & { members: readonly string[] }): Promise<void> {
  client ??= chatKind(kind).connect(url);
  await client.create(chat, members, text);
}

/** When it was called. */
async function post({ chat, sender, text }: Where & { sender: string }): Promise<number> {
  const postedAt = now();
  await client!.post(chat, sender, text);
  return postedAt;
}

/** So many, each as soon as the one before was accepted. */
async function postSeries({
  chat,
  sender,
  text,
  messages,
}: Where & { sender: string; messages: number }): Promise<void> {
  for (let message = 0; message < messages; message += 1) await client!.post(chat, sender, text);
}

const actions = { create, post, postSeries };

export type PostActions = typeof actions;
export default actions;
