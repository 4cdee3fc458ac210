import { inspect } from 'node:util';
import type { MatcherContext, MatcherResult } from '@mortise/redis/testing';
import type { Mailboxes } from '../index.js';

const LIMIT = 1_000;

/** For `expect.extend(messageMatchers)` of jest and vitest. Await the assertion: it reads the mailbox, and acks nothing. */
export const messageMatchers = {
  /** Whether a message of this body is among the first 1,000 unread ones of the recipient. */
  async toHaveSent(
    this: MatcherContext,
    mailboxes: Pick<Mailboxes, 'receive'>,
    recipient: string,
    body: unknown,
  ): Promise<MatcherResult> {
    const messages = await mailboxes.receive(recipient, { limit: LIMIT });
    const pass = messages.some((message) => this.equals(message.body, body));
    const found = messages.map((message) => `  ${inspect(message.body)}`).join('\n') || '  none';
    const wanted = `an unread message ${inspect(body)} for ${inspect(recipient)}`;
    return { pass, message: () => `expected ${pass ? 'not ' : ''}${wanted}, there are\n${found}` };
  },
};

/** The types of `messageMatchers`, to merge into those of `expect`. */
export interface MessageMatchers<Returned = Promise<void>> {
  toHaveSent(recipient: string, body: unknown): Returned;
}
