import { encodeId, encodePlace } from './resume-token.js';

/** The position in one chat as a part of tokens. It is encoded when it changes, since every event has a token. */
export class EncodedPosition {
  readonly #chatId: string;
  #epoch = 0;
  #place = '';
  #id = -1;
  #text = '';

  constructor(chatId: string) {
    this.#chatId = chatId;
  }

  at(epoch: number, id: number): string {
    if (epoch !== this.#epoch) {
      this.#epoch = epoch;
      this.#place = encodePlace(this.#chatId, epoch);
      this.#id = -1;
    }
    if (id !== this.#id) {
      this.#id = id;
      this.#text = this.#place + encodeId(id);
    }
    return this.#text;
  }
}
