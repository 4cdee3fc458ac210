/**
 * Chats in which a member had read everything when this process looked last. Until something is posted to such a chat, its log
 * is empty (or holds what others have yet to read), and whether a log is empty costs the server a third of what its head
 * costs; a twentieth, where several can be asked for in one command.
 *
 * It only affects speed. What is behind a cursor lies in the log: nobody frees it before the member has acked it, and what the
 * caps drop is never the newest entry. So an empty log has nothing for a member who had read everything; unless what was
 * posted since is over its retention, was evicted or was deleted by hand. That is told by the head, and `MAX_AGE_MS`
 * bounds how long a head is not looked at.
 */

/** How long a look at the head of a chat is relied on; less where messages are kept for less than twice as long. */
const MAX_AGE_MS = 60_000;
/** In a process: some 5 MB. Those are forgotten first whose members did not pull for the longest time. */
const MAX_CHATS = 50_000;

/** What is known of a chat: the instant, by `performance.now()`, until which it is relied on. */
interface Look {
  readonly until: number;
  /** Whether its log held what others have yet to read, so that it tells nothing. */
  readonly isInUse: boolean;
}

export class QuietChats {
  readonly #maxAgeMs: number;
  readonly #members = new Map<string, Map<string, Look>>();
  #count = 0;

  constructor(retentionMs: number) {
    this.#maxAgeMs = Math.min(MAX_AGE_MS, retentionMs / 2);
  }

  /** Chats with nothing new for the member as long as their log is empty. O(chats of the member). */
  of(member: string, now: number): string[] {
    const chatIds: string[] = [];
    for (const [chatId, { until, isInUse }] of this.#members.get(member) ?? []) {
      if (!isInUse && until > now) chatIds.push(chatId);
    }
    return chatIds;
  }

  /**
   * Notes that the member had read everything.
   *
   * @param isEmpty Whether the log is empty. Undefined: nobody asked.
   */
  add(member: string, chatId: string, lookedAt: number, isEmpty?: boolean): void {
    let chats = this.#members.get(member);
    if (!chats) {
      chats = new Map();
      this.#members.set(member, chats);
    }
    const known = chats.get(chatId);
    // Until then it has been seen to hold something.
    if (isEmpty === undefined && known?.isInUse && known.until > lookedAt) return;
    if (!known) this.#count += 1;
    chats.set(chatId, { until: lookedAt + this.#maxAgeMs, isInUse: isEmpty === false });
    this.#forgetOldest(member);
  }

  /** Notes that there was something new, or that the member isn't in the chat. */
  delete(member: string, chatId: string): void {
    const chats = this.#members.get(member);
    if (!chats?.delete(chatId)) return;
    this.#count -= 1;
    if (chats.size === 0) this.#members.delete(member);
  }

  /** Notes that the member pulls, and is in these chats and no others. */
  keep(member: string, chatIds: readonly string[]): void {
    const chats = this.#members.get(member);
    if (!chats) return;
    this.#members.delete(member);
    this.#members.set(member, chats);
    if (chats.size <= chatIds.length) return;
    const kept = new Set(chatIds);
    for (const chatId of chats.keys()) if (!kept.has(chatId)) this.delete(member, chatId);
  }

  #forgetOldest(but: string): void {
    for (const [member, chats] of this.#members) {
      if (this.#count <= MAX_CHATS) return;
      if (member === but) continue;
      this.#count -= chats.size;
      this.#members.delete(member);
    }
  }
}
