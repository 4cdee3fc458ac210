/** One process with members who get what is posted to a chat. */
import type { Audience } from './kind.js';
import { chatKind } from './kinds/index.js';
import { now } from './now.js';

export interface Attending {
  readonly url: string;
  readonly kind: string;
  readonly members: readonly string[];
}

let audience: Audience;

async function attend({ url, kind, members }: Attending): Promise<void> {
  audience = await chatKind(kind).attend!(url, members);
}

/** When the last of them had so many messages in all. */
async function until(messages: number): Promise<number> {
  await audience.until(messages);
  return now();
}

const actions = { attend, until };

export type PushActions = typeof actions;
export default actions;
