/**
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:messaging:{<recipient>}:mailbox` | HASH: last id, cursor, epoch … | `send`, `ack`, `clear` | `retentionMs` + 7 days (or `dedupMs`, if more) after the last `send` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-messages` | LIST of entries, the oldest first | `send`, `ack`, `clear` | with its last message, or `retentionMs` after the last `send` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-ids` | HASH: sender's id → id | `send` | `dedupMs` after the last `send` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-ids-before` | HASH: the generation before | `send` | `dedupMs` after it was last written |
 * | `<prefix>:messaging:{<recipient>}:mailbox-wake` | channel | `send`, to receivers that wait | holds nothing |
 */
import { KeySpace } from '@mortise/redis';

/** The keys of one mailbox. The recipient is the entity: one mailbox, one slot. */
export interface MailboxKeys {
  readonly mailbox: string;
  readonly messages: string;
  readonly ids: string;
  readonly oldIds: string;
  readonly wake: string;
}

export class MessagingKeys {
  readonly #space: KeySpace;

  constructor(prefix: string | undefined) {
    this.#space = new KeySpace('messaging', prefix);
  }

  mailbox(recipient: string): MailboxKeys {
    const entity = this.#space.entity(recipient, 'recipient');
    return {
      mailbox: entity.key('mailbox'),
      messages: entity.key('mailbox-messages'),
      ids: entity.key('mailbox-ids'),
      oldIds: entity.key('mailbox-ids-before'),
      wake: entity.key('mailbox-wake'),
    };
  }
}
