const CRLF = 2;

/** Cuts a stream of RESP2 or RESP3 into whole frames. */
export class RespFrames {
  #rest = Buffer.alloc(0);

  /** The frames that are complete with this chunk. */
  push(chunk) {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const frames = [];
    for (let end = frameEnd(this.#rest, 0); end !== -1; end = frameEnd(this.#rest, 0)) {
      frames.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
    }
    return frames;
  }

  /** The beginning of the next frame. */
  get rest() {
    return this.#rest;
  }
}

/** The offset after the frame that begins at `from`, or -1 while it is incomplete. */
function frameEnd(buffer, from) {
  const lineEnd = buffer.indexOf('\r\n', from);
  if (lineEnd === -1) return -1;
  const type = String.fromCharCode(buffer[from]);
  const count = Number(buffer.toString('latin1', from + 1, lineEnd));
  const after = lineEnd + CRLF;
  if ('$=!'.includes(type)) {
    if (count < 0) return after;
    return buffer.length < after + count + CRLF ? -1 : after + count + CRLF;
  }
  if (!'*~>%|'.includes(type)) return after;
  // A map has a key and a value for each; attributes come before the frame that they belong to.
  const items = Math.max(count, 0) * ('%|'.includes(type) ? 2 : 1) + (type === '|' ? 1 : 0);
  let at = after;
  for (let item = 0; item < items && at !== -1; item += 1) at = frameEnd(buffer, at);
  return at;
}

/** The words of a command as clients send it: an array of bulk strings. */
export function commandOf(frame) {
  const words = [];
  let at = frame.indexOf('\r\n') + CRLF;
  while (at < frame.length) {
    const lineEnd = frame.indexOf('\r\n', at);
    const length = Number(frame.toString('latin1', at + 1, lineEnd));
    words.push(frame.subarray(lineEnd + CRLF, lineEnd + CRLF + length));
    at = lineEnd + CRLF + length + CRLF;
  }
  return words;
}

/** A command as clients send it. */
export function encodeCommand(words) {
  const parts = words.map((word) => Buffer.from(word));
  return Buffer.concat([
    Buffer.from(`*${parts.length}\r\n`),
    ...parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n')]),
  ]);
}
