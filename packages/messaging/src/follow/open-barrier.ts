import type { FollowedChat } from './followed-chat.js';

/** Resolves `open()` when the index is read and the state of each chat in it is known. */
export class OpenBarrier {
  /** Chats whose state is not known yet; undefined before the index was read. */
  #chats: Set<FollowedChat> | undefined;
  #waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  wait(): Promise<void> {
    if (this.#isOpen) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  /** Begins with the chats of the index. */
  begin(chats: Iterable<FollowedChat>): void {
    this.#chats = new Set(chats);
    this.#check();
  }

  /** The state of the chat is known. */
  onPlaced(chat: FollowedChat): void {
    if (this.#chats?.delete(chat)) this.#check();
  }

  /** The subscription has ended. */
  end(failure: { readonly error: unknown } | undefined): void {
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (failure) reject(failure.error);
      else resolve();
    }
  }

  get #isOpen(): boolean {
    return this.#chats?.size === 0;
  }

  #check(): void {
    if (this.#isOpen) this.end(undefined);
  }
}
