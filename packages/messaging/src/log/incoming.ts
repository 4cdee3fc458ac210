/** A message on its way to a script that appends it. */
export interface Incoming {
  /** Who sends it, as stored. */
  readonly author: string;
  /** What it is known by. */
  readonly field: Buffer;
  readonly json: string;
  readonly jsonBytes: number;
}

/** Of each message in a call: u16 sender, u16 and u32 lengths. */
const FRAME_BYTES = 8;

/** Each argument of a command costs the client 0.6 µs, so all messages go in one, and each sender once. */
export function packIncoming(messages: readonly Incoming[]): { senders: string[]; incoming: Buffer } {
  const places = new Map<string, number>();
  let bytes = 0;
  for (const { field, jsonBytes } of messages) bytes += FRAME_BYTES + field.length + jsonBytes;
  const incoming = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const { author, field, json, jsonBytes } of messages) {
    let place = places.get(author);
    if (place === undefined) {
      place = places.size + 1;
      places.set(author, place);
    }
    at = incoming.writeUInt16BE(place, at);
    at = incoming.writeUInt16BE(field.length, at);
    at += field.copy(incoming, at);
    at = incoming.writeUInt32BE(jsonBytes, at);
    at += incoming.write(json, at);
  }
  return { senders: [...places.keys()], incoming };
}
