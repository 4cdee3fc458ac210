/**
 * Remembers chats in which a member had read everything when this process last looked. Until somebody posts to such a chat, its
 * log is empty, or holds entries that others have yet to read. EXISTS of a log costs the server a third of reading its head; a
 * twentieth when one command asks for several logs.
 *
 * This affects speed only. An entry after a cursor stays in the log until the member has acked it, and limits never drop the
 * newest entry. So an empty log has nothing for a member who had read everything, unless later posts have expired or were
 * deleted by hand. The head shows that, and `MAX_AGE_MS` bounds how long a head is not read.
 */

/** How long a head that was read stays valid; at most half of `keepMs`. */
const MAX_AGE_MS = 60_000;
/** In a process: some 5 MB. Chats of members who have not pulled for the longest time are forgotten first. */
const MAX_CHATS = 50_000;

/** The last look at a chat, and until when it is valid, on the clock of `performance.now()`. */
interface Look {
  readonly until: number;
  /** Whether its log held entries that others have yet to read: then it says nothing. */
  readonly isInUse: boolean;
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
    for (const [chatId, { until, isInUse }] of this.#members.get(member) ?? []) {
      if (!isInUse && until > now) chatIds.push(chatId);
    }
    return chatIds;
  }

  /**
   * Notes that the member had read everything.
   *
   * @param isEmpty Whether the log is empty. Undefined: unknown.
   */
  add(member: string, chatId: string, lookedAt: number, isEmpty?: boolean): void {
    let chats = this.#members.get(member);
    if (!chats) {
      chats = new Map();
      this.#members.set(member, chats);
    }
    const known = chats.get(chatId);
    // The log is known to hold entries.
    if (isEmpty === undefined && known?.isInUse && known.until > lookedAt) return;
    if (!known) this.#count += 1;
    chats.set(chatId, { until: lookedAt + this.#maxAgeMs, isInUse: isEmpty === false });
    this.#forgetOldest(member);
  }

  /** Notes that there was something new, or that the member is not in the chat. */
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
