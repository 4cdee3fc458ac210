import { useCallback, useEffect, useMemo, useState } from 'react';
import { ChatMember } from '../chat-member.js';
import type { PostOptions } from '../chat-member.js';
import type { ChatEvent, ChatMessage } from '../topics.js';
import { useMortise } from './hooks.js';

/** Options of `useChat`. */
export interface UseChatOptions {
  /** How many of the newest messages are kept. Default 200. */
  readonly keep?: number | undefined;
}

/** A chat as a member sees it. */
export interface Chat {
  /** The messages that came, in the order of their ids: first the unread ones, then new ones, with later edits. */
  readonly messages: readonly ChatMessage[];
  /** Whether some messages between these are missing, since they were dropped before the member read them. */
  readonly hasGap: boolean;
  /** Posts a message once. See `ChatMember.post`. */
  readonly post: (body: unknown, options?: PostOptions) => Promise<number>;
  /** Acks all messages that came. */
  readonly ackAll: () => Promise<void>;
  readonly typing: () => Promise<void>;
}

interface Seen {
  readonly messages: readonly ChatMessage[];
  readonly epoch: number | undefined;
  readonly lastId: number;
  readonly hasGap: boolean;
}

const KEEP = 200;
const NOTHING: Seen = { messages: [], epoch: undefined, lastId: 0, hasGap: false };

/** The messages of a chat of a member, as they come, and the calls of that member. */
export function useChat(member: string, chatId: string, { keep = KEEP }: UseChatOptions = {}): Chat {
  const client = useMortise();
  const calls = useMemo(() => new ChatMember(client, member), [client, member]);
  const [seen, setSeen] = useState(NOTHING);
  useEffect(() => {
    setSeen(NOTHING);
    return calls.follow({
      event: (event) => {
        if (event.chatId === chatId) setSeen((before) => withEvent(before, event, keep));
      },
    });
  }, [calls, chatId, keep]);
  const { messages, hasGap, lastId, epoch } = seen;
  return {
    messages,
    hasGap,
    post: useCallback((body, options) => calls.post(chatId, body, options), [calls, chatId]),
    ackAll: useCallback(async () => {
      if (lastId > 0) await calls.ack(chatId, lastId, epoch);
    }, [calls, chatId, lastId, epoch]),
    typing: useCallback(() => calls.typing(chatId), [calls, chatId]),
  };
}

/** The chat after an event. After a reset ids may begin anew, so the messages begin with the unread ones again. */
function withEvent(before: Seen, event: ChatEvent, keep: number): Seen {
  const { type } = event;
  if (type === 'ended') return NOTHING;
  if (type === 'reset') return { ...NOTHING, epoch: event.epoch };
  if (type === 'gap')
    return { ...before, hasGap: true, epoch: event.epoch, lastId: Math.max(before.lastId, event.toId) };
  if (type !== 'message' && type !== 'edit' && type !== 'delete') return before;
  const { message, epoch } = event;
  const kept = before.epoch === epoch || before.epoch === undefined ? before : NOTHING;
  // The stream may have been opened again by another part of the page.
  if (message.id <= kept.lastId) return kept;
  return { ...kept, epoch, lastId: message.id, messages: changed(kept.messages, event).slice(-keep) };
}

function changed(
  messages: readonly ChatMessage[],
  { type, message }: Extract<ChatEvent, { readonly type: 'message' | 'edit' | 'delete' }>,
): readonly ChatMessage[] {
  if (type === 'message') return [...messages, message];
  if (type === 'delete') return messages.filter(({ id }) => id !== message.revises);
  return messages.map((each) => (each.id === message.revises ? { ...each, body: message.body } : each));
}
