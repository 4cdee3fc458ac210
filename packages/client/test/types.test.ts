/** The types of events are those of the packages, as the API sends them. */
import { expect, test } from '@jest/globals';
import type { ChatEvent as StoredChatEvent } from '@mortise/messaging';
import type { QueueEvent as StoredQueueEvent } from '@mortise/queues';
import { topicOf } from '../src/index.js';
import type { ChatEvent, MortiseClient, QueueEvent, TopicEvent } from '../src/index.js';

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
const isSame = <const Is extends boolean>(is: Is): Is => is;

test('the events of queues and chats', () => {
  const types = isSame<Same<QueueEvent['type'], StoredQueueEvent['type'] | 'reset' | 'off'>>(true);
  const kinds = isSame<Same<ChatEvent['type'], StoredChatEvent['type']>>(true);
  const queued = (event: StoredQueueEvent): QueueEvent => event;
  const chatted = (event: StoredChatEvent): ChatEvent => event;
  expect([types, kinds, typeof queued, typeof chatted]).toEqual([true, true, 'function', 'function']);
});

test('the event of a topic by its text', () => {
  const queue = isSame<Same<TopicEvent<'queue:mails'>, QueueEvent>>(true);
  const member = isSame<Same<TopicEvent<'member:bill'>, ChatEvent>>(true);
  const follow = (client: MortiseClient): (() => void) =>
    client.follow(topicOf('queue', 'a/b'), { event: ({ progress, id }) => [progress, id] });
  expect([queue, member, typeof follow, topicOf('queue', 'a/b')]).toEqual([
    true,
    true,
    'function',
    'queue:a%2Fb',
  ]);
});
