/** One process of members who follow a chat, some of whom come and go; or the one that posts to it. */
import { Chats } from '@mortise/messaging';
import { setTimeout as sleep } from 'node:timers/promises';
import { sharedConnection } from './kinds/connection.js';
import { now } from './now.js';

/** Members of a chat, more than by default. */
const MAX_MEMBERS = 100_000;
/** Members who begin to follow at once. */
const STEP = 500;
interface Follower {
  readonly stop: () => Promise<unknown>;
  /** Continues after the last event. */
  readonly token: () => string | undefined;
}

let chats: Chats<string>;
let names: readonly string[] = [];
let followers: Follower[] = [];
let tookMs: number[] = [];
let reconnects = 0;

function open(url: string): void {
  chats = new Chats<string>(sharedConnection(url), { maxMembers: MAX_MEMBERS });
}

async function create(what: {
  url: string;
  chat: string;
  members: readonly string[];
  text: string;
}): Promise<void> {
  open(what.url);
  const [sender, ...members] = what.members;
  await chats.create({ chatId: what.chat, sender: sender!, members, body: what.text });
}

/** The message tells when it was posted. */
async function post({ chat, sender, text }: { chat: string; sender: string; text: string }): Promise<void> {
  await chats.post(chat, sender, `${now()} ${text}`);
}

/** Follows with one member; resolves when posts are pushed. */
async function follow(member: string, after?: string): Promise<Follower> {
  let token = after;
  const events = chats.follow(member, { after });
  const listen = async (): Promise<void> => {
    for await (const event of events) {
      ({ token } = event);
      if (event.type !== 'message') continue;
      const postedAt = Number(event.message.body.split(' ', 1)[0]);
      // The first message of the chat tells nothing.
      if (postedAt > 0) tookMs.push(now() - postedAt);
    }
  };
  void listen();
  await events.open();
  return { stop: () => events.return!(), token: () => token };
}

async function attend({ url, members }: { url: string; members: readonly string[] }): Promise<void> {
  open(url);
  names = members;
  for (let first = 0; first < names.length; first += STEP) {
    followers.push(...(await Promise.all(names.slice(first, first + STEP).map((name) => follow(name)))));
  }
}

function reconnect(everyMs: number): Promise<void> {
  const go = async (): Promise<never> => {
    for (let index = 0; ; index = (index + 1) % names.length) {
      await sleep(everyMs);
      const { stop, token } = followers[index]!;
      await stop();
      followers[index] = await follow(names[index]!, token());
      reconnects += 1;
    }
  };
  void go();
  return Promise.resolve();
}

/** The times and the reconnects since the last call. */
function clear(): Promise<{ tookMs: number[]; reconnects: number }> {
  const all = { tookMs, reconnects };
  tookMs = [];
  reconnects = 0;
  return Promise.resolve(all);
}

const actions = { create, post, attend, reconnect, clear };

export type ReconnectActions = typeof actions;
export default actions;
