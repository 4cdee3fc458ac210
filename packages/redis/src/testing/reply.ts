/** Replies of the engine, in the shapes of RESP2. Texts have one character for each byte. */

export class Status {
  constructor(readonly text: string) {}
}

export const OK = new Status('OK');

export type Reply = null | number | string | Status | ReplyError | Reply[];

/** An error reply. Clients of ioredis give their errors this name. */
export class ReplyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ReplyError';
  }
}

export const wrongType = (): ReplyError =>
  new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value');
export const syntaxError = (): ReplyError => new ReplyError('ERR syntax error');
export const notAnInteger = (): ReplyError => new ReplyError('ERR value is not an integer or out of range');
export const notAFloat = (): ReplyError => new ReplyError('ERR value is not a valid float');
