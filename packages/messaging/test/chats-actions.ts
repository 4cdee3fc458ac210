/** Random rounds of actions of several members in several chats. */
import type { Role } from '@mortise/messaging';
import * as fc from 'fast-check';

export const CHATS = ['{}', 'b', 'c'];
export const MEMBERS = ['anna', 'ben', 'cleo', 'da\0n'];
const chat = fc.constantFrom(...CHATS);
const member = fc.constantFrom(...MEMBERS);
const action = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant('post' as const), chat, member }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('edit' as const, 'delete' as const),
      chat,
      member,
      back: fc.nat(6),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('ack' as const),
      chat,
      member,
      back: fc.integer({ min: -1, max: 5 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('pull' as const),
      member,
      limit: fc.integer({ min: 1, max: 8 }),
      autoAck: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constantFrom('join' as const, 'leave' as const), chat, member }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('role' as const),
      chat,
      member,
      role: fc.constantFrom<Role>('owner', 'member', 'reader'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom('mute' as const, 'unmute' as const), chat, member }),
  },
);
export type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

/** Rounds of actions that run at once; in some, all connections are cut meanwhile. */
export const rounds = fc.array(
  fc.record({
    creators: fc.uniqueArray(member, { minLength: 1 }),
    actions: fc.array(action, { minLength: 1, maxLength: 12 }),
    isCut: fc.boolean(),
  }),
  { minLength: 2, maxLength: 8 },
);
export type Round = typeof rounds extends fc.Arbitrary<(infer Value)[]> ? Value : never;
