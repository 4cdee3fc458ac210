import { encodeBookmark, encodeId, encodePlace, hashPlace } from './resume-token.js';

/** What one chat is in a token, encoded as often as it changes and no oftener: a token is made for each event. */
export class TokenParts {
  readonly #chatId: string;
  #epoch = 0;
  #place: string | undefined;
  #hash: number | undefined;
  #position = { id: -1, text: '' };
  #bookmark = { id: -1, text: '' };

  constructor(chatId: string) {
    this.#chatId = chatId;
  }

  position(epoch: number, id: number): string {
    this.#begin(epoch);
    this.#place ??= encodePlace(this.#chatId, epoch);
    if (this.#position.id !== id) this.#position = { id, text: this.#place + encodeId(id) };
    return this.#position.text;
  }

  bookmark(epoch: number, id: number): string {
    this.#begin(epoch);
    this.#hash ??= hashPlace(this.#chatId, epoch);
    if (this.#bookmark.id !== id) this.#bookmark = { id, text: encodeBookmark(this.#hash, id) };
    return this.#bookmark.text;
  }

  #begin(epoch: number): void {
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#place = this.#hash = undefined;
    this.#position = this.#bookmark = { id: -1, text: '' };
  }
}
