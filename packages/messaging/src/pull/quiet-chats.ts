/**
 * Remembers chats that had no unread messages for a member at the last read of this process, or whose messages of that read
 * the member has acked since. Until the next post, the log of such a chat is empty, or has entries that others have yet to
 * read. EXISTS of a log costs the server a third of reading its head, or a twentieth with several logs in one command.
 *
 * This affects speed only. An entry after a cursor stays in the log until the member has acked it, and limits never drop
 * the newest entry. So an empty log has nothing for such a member, unless later posts have expired or were deleted by hand.
 * The head shows that, and `MAX_AGE_MS` bounds how long a head is not read.
 */

/** How long a head stays valid after a read; at most half of `keepMs`. */
const MAX_AGE_MS = 60_000;
/** Maximum for a process, some 5 MB. Chats of members who have not pulled for longest are forgotten first. */
const MAX_CHATS = 50_000;

/** The last read of a chat, and the end of its validity, by `performance.now()`. */
interface Look {
  readonly until: number;
  /**
   * The newest id at the read, until the member has acked up to it; then 0. Infinity if other members have unread entries in the log: then EXISTS
   * proves nothing.
   */
  upToId: number;
}

export class QuietChats {
  readonly #maxAgeMs: number;
  readonly #members = new Map<string, Map<string, Look>>();
  #count = 0;

  constructor(keepMs: number) {
    this.#maxAgeMs = Math.min(MAX_AGE_MS, keepMs / 2);
  }

  /** Chats with nothing new for the member as long as their log is empty. O(chats of the member). */
  of(member: string, now: number): string[] {
    const chatIds: string[] = [];
    this.#members.get(member)?.forEach(({ until, upToId }, chatId) => {
      if (upToId === 0 && until > now) chatIds.push(chatId);
    });
    return chatIds;
  }

  /**
   * Records what a read found. Changes nothing while others are known to have unread entries: `delete` ends that.
   *
   * @param upToId The newest id if the member has not acked it, else 0; Infinity if the log has entries for others only.
   */
  add(member: string, chatId: string, lookedAt: number, upToId: number): void {
    let chats = this.#members.get(member);
    if (!chats) {
      chats = new Map();
      this.#members.set(member, chats);
    }
    const known = chats.get(chatId);
    if (known?.upToId === Infinity && known.until > lookedAt) return;
    if (!known) this.#count += 1;
    chats.set(chatId, { until: lookedAt + this.#maxAgeMs, upToId });
    for (const [other, { size }] of this.#members) {
      if (this.#count <= MAX_CHATS) return;
      if (other === member) continue;
      this.#count -= size;
      this.#members.delete(other);
    }
  }

  /** Records the cursor of a member after an ack; called as `Follower.acked` is. */
  acked(chatId: string, member: string, ackedId: number): void {
    const look = this.#members.get(member)?.get(chatId);
    if (look && ackedId >= look.upToId) look.upToId = 0;
  }

  /** Records that there was something new, or that the member is not in the chat. */
  delete(member: string, chatId: string): void {
    const chats = this.#members.get(member);
    if (!chats?.delete(chatId)) return;
    this.#count -= 1;
    if (chats.size === 0) this.#members.delete(member);
  }

  /** Records that the member pulls, and is in exactly these chats. */
  keep(member: string, chatIds: readonly string[]): void {
    const chats = this.#members.get(member);
    if (!chats) return;
    this.#members.delete(member);
    this.#members.set(member, chats);
    if (chats.size <= chatIds.length) return;
    const kept = new Set(chatIds);
    for (const chatId of chats.keys()) if (!kept.has(chatId)) this.delete(member, chatId);
  }
}
