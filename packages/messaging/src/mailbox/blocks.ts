import { callRedis, Coalescer, decodeName, encodeName, requireName } from '@mortise/redis';
import { TooManyError } from '../errors.js';
import { mailboxBlock, mailboxUnblock } from '../scripts.gen.js';
import type { MailboxesContext } from '../log/context.js';

interface Change {
  readonly sender: string;
  readonly isBlock: boolean;
}

/** Maximum of blocked senders of a mailbox. Dropping the oldest names would unblock them, so more are refused. */
const MAX_BLOCKED = 10_000;
const MAX_BATCH = 200;

/** The blocked senders of mailboxes. */
export class Blocks {
  readonly #context: MailboxesContext;
  readonly #changes: Coalescer<string, Change, boolean>;

  constructor(context: MailboxesContext) {
    this.#context = context;
    this.#changes = new Coalescer((recipient, changes) => this.#changeBatch(recipient, changes), {
      maxBatch: MAX_BATCH,
    });
  }

  /** Returns whether the set has changed. */
  change(recipient: string, sender: string, isBlock: boolean): Promise<boolean> {
    return this.#changes.submit(requireName('recipient', recipient), {
      sender: requireName('sender', sender),
      isBlock,
    });
  }

  async list(recipient: string): Promise<string[]> {
    const { redis, keys } = this.#context;
    const { blocked } = keys.mailbox(recipient);
    const senders = (await callRedis(redis, 'smembers', [blocked])) as string[];
    return senders.map(decodeName).toSorted();
  }

  async #changeBatch(recipient: string, changes: readonly Change[]): Promise<(boolean | Error)[]> {
    const { redis, keys } = this.#context;
    const run = changes.some(({ isBlock }) => isBlock)
      ? mailboxBlock.run(redis, keys.mailbox(recipient), {
          maxBlocked: MAX_BLOCKED,
          changes: changes.flatMap(({ sender, isBlock }) => [isBlock ? 1 : 0, encodeName(sender)]),
        })
      : mailboxUnblock.run(redis, keys.mailbox(recipient), {
          senders: changes.map(({ sender }) => encodeName(sender)),
        });
    const replies = (await run) as number[];
    return replies.map((reply) => (reply < 0 ? TooManyError.blocked(recipient, MAX_BLOCKED) : reply === 1));
  }
}
